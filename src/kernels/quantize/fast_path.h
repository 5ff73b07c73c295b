// SPDX-License-Identifier: Apache-2.0
// quantize on the vector kernels of one instruction set.
#pragma once

#include <span>

#include "kernels/quantize/grouping.h"
#include "kernels/quantize/kernels.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

// False where the format has to be left to the definition; nothing is written then.
bool quantize_by_kernels(std::span<const float> input, std::span<float> output,
                         const Format& format, const Grouping& grouping,
                         const QuantizeOptions& options, const QuantizeKernels& kernels);

}  // namespace nibble::inline kernels
