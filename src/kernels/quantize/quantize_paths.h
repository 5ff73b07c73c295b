// SPDX-License-Identifier: Apache-2.0
// The ways that quantize can go: its definition, other packages' arithmetic, vector kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/quantize/group_scales.h"
#include "kernels/quantize/grouping.h"
#include "kernels/quantize/kernels.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

// quantize as its definition says, element by element: what every other path must equal.

// The draw of an element: r bits, the top ones of its 16-bit (r <= 16) or 32-bit lane.
std::uint32_t draw_of(const QuantizeOptions& options, std::uint64_t element);

void quantize_by_definition(std::span<const float> input, std::span<float> output,
                            const Format& format, const Grouping& grouping,
                            const GroupScales& scales, const QuantizeOptions& options);

// quantize as QPyTorch or its posit fork would.
void quantize_by_compat(std::span<const float> input, std::span<float> output, const Format& format,
                        const Grouping& grouping, const QuantizeOptions& options);

// quantize on the vector kernels of one instruction set.

// False where the format has to be left to the definition; nothing is written then.
bool quantize_by_kernels(std::span<const float> input, std::span<float> output,
                         const Format& format, const Grouping& grouping,
                         const QuantizeOptions& options, const QuantizeKernels& kernels);

// The same, a piece at a time: of what has been rounded, body(piece, its first element) may do with
// it what it likes. Pieces of several threads come at once.
using RoundedPiece = std::function<void(std::span<float> piece, std::size_t first)>;
bool round_pieces_by_kernels(std::span<const float> input, const Format& format,
                             const Grouping& grouping, const QuantizeOptions& options,
                             const QuantizeKernels& kernels, const RoundedPiece& body);

}  // namespace nibble::inline kernels
