// SPDX-License-Identifier: Apache-2.0
// quantize as its definition says, element by element: what every other path must equal.
#pragma once

#include <span>

#include "kernels/quantize/group_scales.h"

namespace nibble::inline kernels {

// The draw of an element: r bits, the top ones of its 16-bit (r <= 16) or 32-bit lane.
std::uint32_t draw_of(const QuantizeOptions& options, std::uint64_t element);

void quantize_by_definition(std::span<const float> input, std::span<float> output,
                            const Format& format, const Grouping& grouping,
                            const GroupScales& scales, const QuantizeOptions& options);

}  // namespace nibble::inline kernels
