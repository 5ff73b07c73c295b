// SPDX-License-Identifier: Apache-2.0
// Codes of floats and grids by arithmetic that compilers make vectors of. A number within a few
// fp32 steps of an element's value gets that element's code.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "nibble/numerics/element.h"

namespace nibble::inline kernels {

// n = x · steps to the nearest, in two's complement: |n| < 2^22 lies in the last bits of the sum.
struct GridLine {
  float steps_per_one = 1;
  std::uint32_t mask = 0;

  std::uint32_t code_of(float x) const {
    return std::bit_cast<std::uint32_t>(x * steps_per_one + 0x1.8p23F) & mask;
  }
};

// Codes count the values from zero on. Below the least normal number that is |x| by its step, above
// fp32's pattern without the bits that are cut, less what the exponent's bias moves it by.
struct FloatLine {
  std::uint32_t least_normal = 0;  // its pattern
  float steps_per_one = 0;
  std::uint32_t half = 0;  // of what is cut
  int cut = 0;
  std::uint32_t offset = 0;
  int sign_shift = 0;
  std::uint32_t infinity = 0;
  std::uint32_t nan = 0;

  // Nothing where its codes would not be those of every value.
  static std::optional<FloatLine> of(const Element& element);

  std::uint32_t code_of(float x) const {
    constexpr std::uint32_t kInfinity = 0x7F800000;
    const std::uint32_t pattern = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
    const float magnitude = std::bit_cast<float>(pattern);
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(magnitude * steps_per_one + 0x1p23F) - 0x4B000000;
    const std::uint32_t normal = ((pattern + half) >> cut) - offset;
    const std::uint32_t finite = chosen(pattern < least_normal, small, normal);
    const std::uint32_t sign = (std::bit_cast<std::uint32_t>(x) >> 31) << sign_shift;
    return chosen(pattern > kInfinity, nan, sign | chosen(pattern == kInfinity, infinity, finite));
  }

 private:
  // Without a branch, which ordinary numbers would take by chance.
  static std::uint32_t chosen(bool is_first, std::uint32_t first, std::uint32_t second) {
    return second ^ ((first ^ second) & (0U - std::uint32_t{is_first}));
  }
};

}  // namespace nibble::inline kernels
