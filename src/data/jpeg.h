// SPDX-License-Identifier: Apache-2.0
// JPEG files, read with libjpeg where the build has it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

bool can_read_jpeg();

inline bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} &&
         bytes[2] == std::byte{0xFF};
}

// As decode_picture and picture_shape.
Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name);
Shape jpeg_shape(std::span<const std::byte> bytes, const std::string& name);

}  // namespace nibble::inline data
