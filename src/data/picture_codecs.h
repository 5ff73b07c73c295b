// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files, read with libpng and libjpeg where the build has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

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

// The file of a picture (height, width, 1 or 3 channels), which decode_png gives back as it was.
std::vector<std::byte> encode_png(const std::uint8_t* pixels, const Shape& shape);

bool can_read_jpeg();

inline bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} &&
         bytes[2] == std::byte{0xFF};
}

// As decode_picture and picture_shape.
Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name);
Shape jpeg_shape(std::span<const std::byte> bytes, const std::string& name);

// A part of a picture.
struct PictureWindow {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
};

// Calls take(pixels) for the rows of the window from top to bottom, as decode_jpeg has them,
// without memory for the picture and with less work for what is outside. The whole file is looked
// at: one that decode_jpeg refuses is refused. False, and nothing done: a picture of four inks.
bool decode_jpeg_rows(std::span<const std::byte> bytes, const std::string& name,
                      const PictureWindow& window,
                      const std::function<void(const std::uint8_t* pixels)>& take);

}  // namespace nibble::inline data
