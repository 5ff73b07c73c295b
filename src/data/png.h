// SPDX-License-Identifier: Apache-2.0
// PNG files, read with libpng where the build has it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

bool can_read_png();

inline bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{0x89} && bytes[1] == std::byte{'P'} &&
         bytes[2] == std::byte{'N'} && bytes[3] == std::byte{'G'};
}

// As decode_picture and picture_shape.
Tensor decode_png(std::span<const std::byte> bytes, const std::string& name);
Shape png_shape(std::span<const std::byte> bytes, const std::string& name);

}  // namespace nibble::inline data
