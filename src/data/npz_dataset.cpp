// SPDX-License-Identifier: Apache-2.0
// The members of an .npz file as an ArraySet.

#include "data/array_set.h"
#include "data/npz.h"

namespace nibble::inline data {
namespace {

// The archive must outlive the set.
ArraySet arrays_of(const Npz& npz, const std::string& place) {
  return {.place = place,
          .has = [&npz](const std::string& name) { return npz.has(name); },
          .read = [&npz](const std::string& name) { return npz.read(name); },
          .describe = [place](const std::string& name) { return place + ": " + name; },
          .class_names = {}};
}

}  // namespace

bool has_npz_split(const std::filesystem::path& path, Split split) {
  return has_split(arrays_of(Npz(path), path.string()), split);
}

Dataset read_npz_dataset(const std::filesystem::path& path, Split split) {
  const Npz npz(path);
  Dataset dataset = read_array_set(arrays_of(npz, path.string()), split);
  dataset.name = path.stem().string();
  return dataset;
}

}  // namespace nibble::inline data
