// SPDX-License-Identifier: Apache-2.0
// A data set made of named arrays, wherever they are: files of a folder, members of an archive.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

}  // namespace nibble::inline data
