// SPDX-License-Identifier: Apache-2.0
// Single pictures: PNG and JPEG files as bytes of pixels, and their resizing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "nibble/core/tensor.h"

namespace nibble {

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

}  // namespace nibble
