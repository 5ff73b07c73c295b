// SPDX-License-Identifier: Apache-2.0
// Convolutions of one channel to one with all that follows in one pass, as products have it.
#pragma once

#include "engine/product_step.h"

namespace nibble {

// Whether it is such a convolution; its input must lie as u8.
bool is_depthwise(const Conv2d& window, std::int64_t channels);

std::unique_ptr<EngineStep> make_depthwise_step(ProductSpec spec);

}  // namespace nibble
