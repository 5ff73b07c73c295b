// SPDX-License-Identifier: Apache-2.0
// Which accumulators have a meaning.
#pragma once

#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels::accumulation {

// Throws where a format, a chunk length or an order cannot be computed with.
void check_accumulator(const Accumulator& accumulator);

}  // namespace nibble::inline kernels::accumulation
