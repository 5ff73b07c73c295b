// SPDX-License-Identifier: Apache-2.0
// The files of a folder as an ArraySet, with class_names.txt.

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/name.h"
#include "data/array_set.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::vector<std::string> read_class_names(const fs::path& path) {
  std::vector<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    check_name("load_dataset", path.string() + ": class name", line);
    names.push_back(line);
  }
  if (names.empty() || std::cmp_greater(names.size(), kMostClasses)) {
    throw Error("load_dataset", path.string() + ": names", std::to_string(names.size()),
                fmt::format("1 to {}", kMostClasses), ErrorKind::input);
  }
  return names;
}

ArraySet arrays_of(const fs::path& folder) {
  const auto path_of = [folder](const std::string& name) { return folder / (name + ".npy"); };
  return {.place = folder.string(),
          .has = [=](const std::string& name) { return is_file(path_of(name)); },
          .read = [=](const std::string& name) { return read_npy(path_of(name)); },
          .describe = [=](const std::string& name) { return path_of(name).string(); },
          .class_names = {}};
}

}  // namespace

bool has_array_split(const fs::path& folder, Split split) {
  return has_split(arrays_of(folder), split);
}

bool is_array_folder(const fs::path& folder) {
  return has_array_split(folder, Split::train) || has_array_split(folder, Split::test);
}

Dataset read_array_folder(const fs::path& folder, Split split) {
  ArraySet set = arrays_of(folder);
  const fs::path names = folder / "class_names.txt";
  if (is_file(names)) set.class_names = read_class_names(names);
  Dataset dataset = read_array_set(set, split);
  const fs::path clean = folder.lexically_normal();
  dataset.name = (clean.has_filename() ? clean : clean.parent_path()).filename().string();
  return dataset;
}

}  // namespace nibble::inline data
