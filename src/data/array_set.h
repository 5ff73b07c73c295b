// SPDX-License-Identifier: Apache-2.0
// Data sets made of named arrays, wherever they are: files of a folder, members of an archive,
// memory of the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

struct ArraySet {
  std::string place;  // the folder or the archive, in errors
  std::function<bool(const std::string& name)> has;
  std::function<Tensor(const std::string& name)> read;
  std::function<std::string(const std::string& name)> describe;  // the array in errors
  std::vector<std::string> class_names;  // empty: 0 up to the largest label of both splits
};

// Whether it has the arrays of a split under any of the names that load_dataset gives.
bool has_split(const ArraySet& set, Split split);

// Everything of the data set but its name.
Dataset read_array_set(const ArraySet& set, Split split);

// A data set of one's own: a folder of .npy files, as load_dataset describes it.
bool has_array_split(const std::filesystem::path& folder, Split split);

// Whether a folder holds the arrays of any split.
bool is_array_folder(const std::filesystem::path& folder);

Dataset read_array_folder(const std::filesystem::path& folder, Split split);

// A data set of one's own in one .npz file, as load_dataset describes it.
bool has_npz_split(const std::filesystem::path& path, Split split);

Dataset read_npz_dataset(const std::filesystem::path& path, Split split);

// The data sets that programs keep in memory, by name.

// Null where no program keeps one of that name.
std::shared_ptr<const ArraySet> find_in_memory(std::string_view name);

Dataset read_from_memory(const ArraySet& set, Split split, bool takes_unlabelled);

// Arrays as every data set has them: pictures or features, labels, and the targets of regression.

// u8 or f32 (n, h, w, c); of (n, h, w) the one channel is added, f32 (n, k) becomes (n, 1, 1, k).
// Throws on other shapes and types and on numbers that are not finite; `name` is the array in
// errors.
Tensor images_from(Tensor values, const std::string& name);

// f32 (n, k); (n) becomes (n, 1). Throws unless there are `count` rows of finite numbers.
Tensor targets_from(Tensor values, std::int64_t count, const std::string& name);

inline constexpr std::int64_t kMostClasses = 65536;

// Integers of any width (n) as i32. Throws unless there are `count` of them, all from 0 to
// classes - 1; `name` is the file in errors.
Tensor labels_from(ConstTensorView values, std::int64_t count, std::int64_t classes,
                   const std::string& name);

}  // namespace nibble::inline data
