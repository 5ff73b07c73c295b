// SPDX-License-Identifier: Apache-2.0
// Where rounding cut a value to the range of its format, so that no gradient passes there.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/numerics/format.h"

namespace nibble {

// 1 where the value lies outside the finite range of the format. Throws for formats whose range
// follows the data.
std::vector<std::uint8_t> clamp_mask(ConstTensorView values, const Format& format);

void zero_where(const std::vector<std::uint8_t>& mask, TensorView values);

}  // namespace nibble
