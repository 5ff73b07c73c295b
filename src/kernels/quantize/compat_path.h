// SPDX-License-Identifier: Apache-2.0
// quantize as QPyTorch or its posit fork would.
#pragma once

#include <span>

#include "kernels/quantize/grouping.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

void quantize_by_compat(std::span<const float> input, std::span<float> output, const Format& format,
                        const Grouping& grouping, const QuantizeOptions& options);

}  // namespace nibble::inline kernels
