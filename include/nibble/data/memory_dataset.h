// SPDX-License-Identifier: Apache-2.0
// Arrays of a program as a data set: while this lives, load_dataset and has_split know its name.
#pragma once

#include <map>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

class MemoryDataset {
 public:
  // The arrays have the names that an .npz has, see load_dataset; `images` alone is taken for
  // calibration. Throws where the name is taken.
  MemoryDataset(std::string name, std::map<std::string, Tensor> arrays);
  ~MemoryDataset();
  MemoryDataset(const MemoryDataset&) = delete;
  MemoryDataset& operator=(const MemoryDataset&) = delete;

 private:
  std::string name_;
};

}  // namespace nibble::inline data
