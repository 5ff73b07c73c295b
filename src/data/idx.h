// SPDX-License-Identifier: Apache-2.0
// IDX arrays of bytes, the files of MNIST, plain or in gzip.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble {

// Two zero bytes, the type (8: unsigned bytes, the only one read), the rank (1 to 8), the extents
// as 32-bit big-endian integers, the data. Anything missing or left over is an error; `name` is
// used in its text. The result is u8.
Tensor parse_idx(std::span<const std::byte> bytes, const std::string& name);

Tensor read_idx(const std::filesystem::path& path);

}  // namespace nibble
