// SPDX-License-Identifier: Apache-2.0
// Operands for measurements of the simulated accumulator.
#pragma once

#include <cmath>
#include <cstdint>

#include "nibble/core/philox.h"
#include "nibble/core/tensor.h"

namespace nibble::inline kernels {

// Box and Muller's normal numbers from the draws of a stream.
inline Tensor random_normal(std::int64_t rows, std::int64_t columns, std::uint32_t stream) {
  Tensor tensor(DType::f32, {rows, columns});
  const RandomKey key = {.seed = 1, .stream = stream};
  std::uint64_t element = 0;
  for (float& value : tensor.as<float>()) {
    const double u = (draw32(key, element) + 0.5) * 0x1p-32;
    const double v = (draw32(key, element + 1) + 0.5) * 0x1p-32;
    value =
        static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v));
    element += 2;
  }
  return tensor;
}

}  // namespace nibble::inline kernels
