// SPDX-License-Identifier: Apache-2.0
// Reads images.npy, labels.npy and class_names.txt.
#include "data/array_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "data/labels.h"
#include "nibble/core/error.h"
#include "nibble/core/npy.h"

namespace nibble {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool has_arrays(const fs::path& folder) {
  return is_file(folder / "images.npy") && is_file(folder / "labels.npy");
}

fs::path folder_of(const fs::path& folder, Split split) {
  fs::path inner = folder / name_of(split);
  if (has_arrays(inner)) return inner;
  if (!has_arrays(folder)) {
    throw Error("load_dataset", folder.string(), "no images.npy and labels.npy",
                fmt::format("both there or in {}", inner.string()));
  }
  if (split == Split::test) {
    throw Error("load_dataset", folder.string() + ": test split", "a folder without one",
                fmt::format("images.npy and labels.npy in {}", inner.string()));
  }
  return folder;
}

Tensor read_images(const fs::path& path) {
  Tensor images = read_npy(path);
  const Shape shape = images.shape();
  if (images.dtype() != DType::u8) {
    throw Error("load_dataset", path.string() + ": element type", name_of(images.dtype()), "u8");
  }
  if (shape.rank() == 4) return images;
  if (shape.rank() != 3) {
    throw Error("load_dataset", path.string() + ": shape", shape.to_string(),
                "(n, h, w) or (n, h, w, c)");
  }
  Tensor with_channel(DType::u8, Shape{shape[0], shape[1], shape[2], 1});
  std::memcpy(with_channel.data(), images.data(), images.bytes());
  return with_channel;
}

Tensor read_labels(const fs::path& path, std::int64_t count, std::int64_t classes) {
  return labels_from(read_npy(path).view(), count, classes, path.string());
}

// 1 + the largest label of all splits that the folder has.
std::int64_t count_classes(const fs::path& folder) {
  std::int32_t largest = 0;
  for (const fs::path& place : {folder, folder / "train", folder / "test"}) {
    const fs::path path = place / "labels.npy";
    if (!is_file(path)) continue;
    const Tensor values = read_npy(path);
    if (values.shape().rank() != 1) {
      throw Error("load_dataset", path.string() + ": shape", values.shape().to_string(), "(n,)");
    }
    const Tensor labels =
        labels_from(values.view(), values.shape()[0], kMostClasses, path.string());
    for (const std::int32_t label : labels.as<std::int32_t>()) largest = std::max(largest, label);
  }
  return std::int64_t{largest} + 1;
}

std::vector<std::string> class_names_of(const fs::path& folder) {
  const fs::path path = folder / "class_names.txt";
  std::vector<std::string> names;
  if (!is_file(path)) {
    const std::int64_t classes = count_classes(folder);
    for (std::int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
    return names;
  }
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  if (names.empty() || std::cmp_greater(names.size(), kMostClasses)) {
    throw Error("load_dataset", path.string() + ": names", std::to_string(names.size()),
                fmt::format("1 to {}", kMostClasses));
  }
  return names;
}

}  // namespace

Dataset read_array_folder(const fs::path& folder, Split split) {
  const fs::path arrays = folder_of(folder, split);
  Dataset dataset;
  const fs::path clean = folder.lexically_normal();
  dataset.name = (clean.has_filename() ? clean : clean.parent_path()).filename().string();
  dataset.class_names = class_names_of(folder);
  dataset.images = read_images(arrays / "images.npy");
  dataset.labels = read_labels(arrays / "labels.npy", dataset.size(),
                               static_cast<std::int64_t>(dataset.class_names.size()));
  return dataset;
}

}  // namespace nibble
