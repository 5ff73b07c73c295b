// SPDX-License-Identifier: Apache-2.0
// Labelled pictures in memory, found by name or by path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble {

enum class Split : std::uint8_t { train, test };

std::string_view name_of(Split split);

struct Dataset {
  std::string name;
  Tensor images;  // u8 (n, height, width, channels)
  Tensor labels;  // i32 (n), each an index of class_names
  std::vector<std::string> class_names;

  std::int64_t size() const { return images.shape()[0]; }
};

// A known name (see nibble/data/catalog.h), or the path of a folder of arrays.
//
// Such a folder holds images.npy, u8 (n, h, w) or (n, h, w, c), and labels.npy, integers (n): all
// of it is the train split. Or it holds folders train and test with these two files each. Names of
// the classes stand in class_names.txt, one a line; without it they are 0 up to the largest label
// of both splits.
Dataset load_dataset(std::string_view name_or_path, Split split);

// XXH3 of the image bytes followed by the labels as 32-bit little-endian integers.
std::uint64_t hash_of(const Dataset& dataset);

}  // namespace nibble
