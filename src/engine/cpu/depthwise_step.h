// SPDX-License-Identifier: Apache-2.0
// Convolutions of one channel to one with all that follows in one pass, as products have it.
#pragma once

#include "engine/cpu/product_step.h"

namespace nibble::inline engine {

// The input must lie as u8.
std::unique_ptr<CpuStep> make_depthwise_step(ProductSpec spec);

}  // namespace nibble::inline engine
