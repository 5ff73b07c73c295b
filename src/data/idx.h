// SPDX-License-Identifier: Apache-2.0
// IDX arrays of bytes, the files of MNIST, plain or in gzip: how they are named and read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nibble/core/tensor.h"
#include "nibble/data/dataset.h"

namespace nibble::inline data {

// Two zero bytes, the type (8: unsigned bytes, the only one read), the rank (1 to 8), the extents
// as 32-bit big-endian integers, the data. Anything missing or left over is an error; `name` is
// used in its text. The result is u8.
Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name);

Tensor read_idx(const std::filesystem::path& path);

// File names without the .gz that each may have.
struct IdxFiles {
  std::string images;
  std::string labels;
};

// digits has one pair of files for both splits, all others have MNIST's four.
IdxFiles idx_files_of(std::string_view dataset, Split split);

// NAME or NAME.gz in a folder.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder,
                                              const std::string& name);

}  // namespace nibble::inline data
