// SPDX-License-Identifier: Apache-2.0
// Finds a data set and hands it to the reader of its files.
#include "nibble/data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/hash.h"
#include "core/name.h"
#include "core/nearest_name.h"
#include "data/array_set.h"
#include "data/catalog.h"
#include "data/cifar10.h"
#include "data/idx.h"
#include "data/listed_files.h"
#include "data/picture_folder.h"
#include "data/picture_set.h"
#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

namespace fs = std::filesystem;

// A part of an array along its first axis.
Tensor rows_of(ConstTensorView source, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> extents(source.shape().extents().begin(),
                                    source.shape().extents().end());
  const std::size_t row_bytes = source.bytes() / static_cast<std::size_t>(extents[0]);
  extents[0] = end - begin;
  Tensor part(source.dtype(), Shape(extents));
  std::memcpy(part.data(), source.data() + static_cast<std::size_t>(begin) * row_bytes,
              part.bytes());
  return part;
}

// One file of digits holds both splits, the train images first.
void keep_split(Dataset& dataset, const KnownDataset& known, Split split, const std::string& file) {
  const auto [train, test] = known.counts;
  if (dataset.size() != train + test) {
    throw Error("load_dataset", file + ": images", std::to_string(dataset.size()),
                std::to_string(train + test), ErrorKind::input);
  }
  const std::int64_t begin = split == Split::train ? 0 : train;
  const std::int64_t end = split == Split::train ? train : train + test;
  dataset.images = rows_of(dataset.images.view(), begin, end);
  dataset.labels = rows_of(dataset.labels.view(), begin, end);
}

Dataset read_idx_dataset(const KnownDataset& known, const fs::path& folder, Split split) {
  const IdxFiles files = idx_files_of(known.name, split);
  // find_data has seen them; without the ending the reader names what has gone since.
  const fs::path images_path = find_idx(folder, files.images).value_or(folder / files.images);
  const fs::path labels_path = find_idx(folder, files.labels).value_or(folder / files.labels);
  const Tensor pixels = read_idx(images_path);
  const Shape& shape = pixels.shape();
  const auto [height, width, channels] = known.image;
  if (shape.rank() != 3 || shape[1] != height || shape[2] != width) {
    throw Error("load_dataset", images_path.string() + ": shape", shape.to_string(),
                "(n, " + std::to_string(height) + ", " + std::to_string(width) + ")",
                ErrorKind::input);
  }
  Dataset dataset;
  dataset.name = known.name;
  dataset.class_names.assign(known.class_names.begin(), known.class_names.end());
  dataset.images = Tensor(DType::u8, Shape{shape[0], height, width, channels});
  std::memcpy(dataset.images.data(), pixels.data(), pixels.bytes());
  dataset.labels =
      labels_from(read_idx(labels_path).view(), shape[0],
                  static_cast<std::int64_t>(known.class_names.size()), labels_path.string());
  if (known.name == "digits") keep_split(dataset, known, split, images_path.string());
  return dataset;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const KnownDataset& known : known_datasets()) names.emplace_back(known.name);
  return names;
}

Dataset read_known(const KnownDataset& known, Split split) {
  const std::optional<fs::path> folder = find_data(known.name);
  if (!folder) throw Error("load_dataset", explain_absence(known.name), ErrorKind::system);
  if (known.name == "cifar10") {
    return read_cifar10(find_cifar10_batches(*folder).value_or(*folder), split);
  }
  return read_idx_dataset(known, *folder, split);
}

// One wrong label under a known name must not be trained on without a word.
void check_hash(const Dataset& dataset, const KnownDataset& known, Split split) {
  const std::uint64_t expected = known.hashes[static_cast<std::size_t>(split)];
  const std::uint64_t got = hash_of(dataset);
  if (got == expected) return;
  throw Error("load_dataset",
              std::string(known.name) + ": hash of the " + std::string(name_of(split)) + " split",
              hex(got), hex(expected) + ", which the catalog has: its files are not the known ones",
              ErrorKind::input);
}

}  // namespace

std::string_view name_of(Split split) {
  return split == Split::train ? "train" : "test";
}

Dataset load_dataset(std::string_view name_or_path, Split split, const LoadOptions& options) {
  if (const auto set = find_in_memory(name_or_path))
    return read_from_memory(*set, split, options.takes_unlabelled);
  const KnownDataset* known = find_known_dataset(name_or_path);
  const fs::path path = name_or_path;
  std::error_code ignored;
  const bool is_folder = known == nullptr && fs::is_directory(path, ignored);
  const bool has_arrays = is_folder && is_array_folder(path);
  if (known == nullptr && !has_arrays) {
    if (std::optional<Dataset> pictures = find_picture_set(path, split, options))
      return std::move(*pictures);
    if (is_folder) {
      throw Error("load_dataset", path.string(),
                  "no images.npy with labels.npy or targets.npy, no CLASS/FILE.png or .jpg",
                  "one of them, there or in train and test", ErrorKind::input);
    }
  }
  if (options.image_size != 0) {
    throw Error("load_dataset", "image size for " + std::string(name_or_path),
                std::to_string(options.image_size), "0: only pictures are resized");
  }
  if (known != nullptr) {
    Dataset dataset = read_known(*known, split);
    if (options.is_checked) check_hash(dataset, *known, split);
    return dataset;
  }
  if (has_arrays) return read_array_folder(path, split);
  if (path.extension() == ".npz") return read_npz_dataset(path, split);
  const std::vector<std::string> names = known_names();
  throw Error("load_dataset", "data set", in_quotes(name_or_path),
              fmt::format("{}, a folder of arrays or pictures, an .npz or a .tar file{}",
                          fmt::join(names, ", "), perhaps(name_or_path, names)));
}

bool has_split(std::string_view name_or_path, Split split) {
  if (const auto set = find_in_memory(name_or_path)) return has_split(*set, split);
  if (find_known_dataset(name_or_path) != nullptr) return true;
  const fs::path path = name_or_path;
  if (path.extension() == ".npz") return has_npz_split(path, split);
  if (has_file_list(path)) return split == Split::train;
  return is_array_folder(path) ? has_array_split(path, split) : has_picture_split(path, split);
}

std::uint64_t hash_of(const Dataset& dataset) {
  Hasher hasher;
  if (dataset.images.is_in_memory()) {
    hasher.add(std::span<const std::byte>(dataset.images.data(), dataset.images.bytes()));
  } else {
    hasher.add(hex(dataset.images.source()->hash()));
  }
  for (const Tensor* part : {&dataset.labels, &dataset.targets}) {
    hasher.add(std::span<const std::byte>(part->data(), part->bytes()));
  }
  return hasher.value();
}

std::string sha256_of(const Dataset& dataset) {
  Sha256 hash;
  hash.add(std::span<const std::byte>(dataset.images.data(), dataset.images.bytes()));
  for (const Tensor* part : {&dataset.labels, &dataset.targets}) {
    hash.add(std::span<const std::byte>(part->data(), part->bytes()));
  }
  return hash.hex();
}

}  // namespace nibble::inline data
