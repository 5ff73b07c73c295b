// SPDX-License-Identifier: Apache-2.0
// Whether a tensor has neither an infinity nor a NaN.
#pragma once

#include <span>

namespace nibble::inline float_training {

bool is_finite(std::span<const float> values);

}  // namespace nibble::inline float_training
