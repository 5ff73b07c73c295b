// SPDX-License-Identifier: Apache-2.0
// Sums over slices, element by element, in the order of the slices.
#pragma once

#include <cstdint>

namespace nibble {

// sum[i] = ((parts[i] + parts[stride + i]) + parts[2·stride + i]) + … for i < count; sum may be
// parts itself.
void sum_slices(const float* parts, std::int64_t slices, std::int64_t stride, std::int64_t count,
                float* sum);

}  // namespace nibble
