// SPDX-License-Identifier: Apache-2.0
// Sums over all but the last axis: by slice, then in slice order.
#pragma once

#include <cstdint>

#include "train/layer.h"

namespace nibble {

// sums[c] = Σ_r values[r·channels + c] over rows·channels numbers; rows is a multiple of the images
// of the pass. Within a slice rows are added in their order.
void sum_channels(const Pass& pass, const float* values, std::int64_t rows, std::int64_t channels,
                  float* sums);

}  // namespace nibble
