// SPDX-License-Identifier: Apache-2.0
// Thin inputs unfolded: all that one window covers side by side, as the channels of one pixel.
#pragma once

#include "backend/cpu/packed_weights.h"
#include "backend/cpu/tap_map.h"
#include "core/buffer_pool.h"

namespace nibble::inline backend {

// Products read 4 channels at once and sum gradients in 16 columns: inputs of fewer channels would
// leave most of that empty. Their windows are small, so unfolding them costs little.
bool is_thin(const Picture& input, const WeightShape& weight);

// One pixel of (tap, channel) for every pixel of the result, in `memory`.
BlockTensor unfold(const SlidingWindow& window, const Picture& result, const BlockTensor& input,
                   BufferPool& pool, Buffer& memory);

}  // namespace nibble::inline backend
