// SPDX-License-Identifier: Apache-2.0
// An integer-trained network with its rounding written out: exact sums and rescale nodes.
#pragma once

#include <optional>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// int8 with a power of two as its scale: how integer-trained networks keep values and weights.

// ⌈log2 largest⌉ - 7, so that mantissas within ±127 reach it, or one step less; -7 where it is 0.
int exponent_for(double largest);

Precision int8_of(int exponent);
std::optional<int> exponent_of(const Precision& precision);  // empty: it is no such format

// Of a network of integers whose values have no exponents: average pools become NAME.sum, exact,
// and the rescale NAME to the nearest integer; dropout goes. All after the answer goes, too.
Model with_written_means(Model model);

// The sums of an average pool; those that do not count zeros around have mean bits.
SumPool sums_of(const AveragePool& pool, std::int64_t mean_bits);

// Networks whose values have int8 formats with powers of two as scales (what integer training
// writes) become networks of integers alone: a layer NAME that rounds becomes NAME.sum, exact, and
// the rescale NAME with the frozen shift. Losses and dropout go. Other networks of integers come
// back as they are but for their loss. Throws one line that names all layers without an integer
// form.
Model integer_form(Model model);

}  // namespace nibble::inline graph
