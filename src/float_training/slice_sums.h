// SPDX-License-Identifier: Apache-2.0
// Sums over slices, made in the order of the slices.
#pragma once

#include <cstdint>

#include "float_training/layer.h"

namespace nibble::inline float_training {

// sum[i] = ((parts[i] + parts[stride + i]) + parts[2·stride + i]) + … for i < count; sum may be
// parts itself.
void sum_slices(const float* parts, std::int64_t slices, std::int64_t stride, std::int64_t count,
                float* sum);

// sums[c] = Σ_r values[r·channels + c] over rows·channels numbers; rows is a multiple of the images
// of the pass. Within a slice rows are added in their order, then slices in theirs.
void sum_channels(const Pass& pass, const float* values, std::int64_t rows, std::int64_t channels,
                  float* sums);

}  // namespace nibble::inline float_training
