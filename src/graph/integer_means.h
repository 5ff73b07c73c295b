// SPDX-License-Identifier: Apache-2.0
// Means of integers as sums and rescales.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// Of a network of integers whose values have no exponents: average pools become NAME.sum, exact,
// and the rescale NAME to the nearest integer; dropout goes. All after the answer goes, too.
Model with_written_means(Model model);

// The sums of an average pool; those that do not count zeros around have mean bits.
SumPool sums_of(const AveragePool& pool, std::int64_t mean_bits);

}  // namespace nibble::inline graph
