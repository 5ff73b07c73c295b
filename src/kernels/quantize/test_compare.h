// SPDX-License-Identifier: Apache-2.0
// For tests: vectors through quantize, and their comparison bit by bit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <ios>
#include <string>
#include <vector>

#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

inline ConstTensorView shaped(const std::vector<float>& values, const Shape& shape) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, shape};
}
inline TensorView shaped(std::vector<float>& values, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(values.data()), DType::f32, shape};
}

inline std::vector<float> quantized(const std::vector<float>& input, const Shape& shape,
                                    const Format& format, const QuantizeOptions& options) {
  std::vector<float> output(input.size());
  quantize(shaped(input, shape), shaped(output, shape), format, options);
  return output;
}

// Bits, with one NaN.
inline std::uint32_t pattern(float x) {
  return std::isnan(x) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(x);
}

inline void expect_same(const std::vector<float>& input, const std::vector<float>& got,
                        const std::vector<float>& expected, const std::string& what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(pattern(got[i]), pattern(expected[i]))
        << what << ": element " << i << " = " << std::hexfloat << input[i] << " gave " << got[i]
        << ", the definition says " << expected[i];
  }
}

}  // namespace nibble::inline kernels
