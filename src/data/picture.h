// SPDX-License-Identifier: Apache-2.0
// Single pictures: PNG and JPEG files as bytes of pixels, their resizing and their colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble::inline data {

inline constexpr std::int64_t kMostPictureSide = 32768;
inline constexpr std::int64_t kMostPicturePixels = std::int64_t{1} << 26;

// u8 (h, w, 1) of grey pictures, (h, w, 3) red, green, blue of all others. The first bytes tell PNG
// from JPEG. Transparency is dropped: a pixel has the colour the file gives it, as if it were
// opaque. 16 bits are rounded to 8; gamma and colour profiles are not applied. Pictures above the
// limits, cut short or broken are errors that hold `name`.
Tensor decode_picture(std::span<const std::byte> bytes, const std::string& name);

// The shape decode_picture gives, from the header alone.
Shape picture_shape(std::span<const std::byte> bytes, const std::string& name);

Tensor read_picture(const std::filesystem::path& path);

// A square of the given side (1 to 4,096): the shorter side becomes `size`, the longer one
// ⌊size·longer/shorter⌋, and the middle is cut out, the odd pixel lost at the end.
//
// Triangle filter, wide enough that nothing is skipped, in exact integers: of n pixels in a line
// that becomes m, pixel i of the result takes pixel j with the weight
//   max(0, 2S - |(2j+1)m - (2i+1)n|),  S = max(n, m),
// and the weighted mean over both axes is rounded once, ties up.
Tensor resize_picture(ConstTensorView picture, std::int64_t size);

struct MiddleOptions {
  std::int64_t shorter = 256;  // what the shorter side becomes, 1 to 4,096
  std::int64_t height = 224;   // of what is kept, at most `shorter`
  std::int64_t width = 224;
};

// What torchvision's Resize(shorter) and CenterCrop(height, width) take from a picture. The filter
// is the one above, along rows, rounded, then along columns, as PIL does it; PIL's weights have 22
// bits, so that it may differ by a level. Half a pixel at the crop is rounded to an even number.
Tensor middle_of_picture(ConstTensorView picture, const MiddleOptions& options = {});

// Grey pictures as red, green and blue, or colours as grey: (19595 r + 38470 g + 7471 b + 2^15) /
// 2^16, as PIL has it. `channels` is 1 or 3.
Tensor with_channels(Tensor picture, std::int64_t channels);

}  // namespace nibble::inline data
