// SPDX-License-Identifier: Apache-2.0
// Where a network of integers would round.
#pragma once

#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// By node: whether its value is rounded. Sums are rounded once, after what can be done before: a
// relu, the add that takes them (the last sum among its operands), a concat. The answer always is.
std::vector<bool> quantization_points(const Network& network,
                                      IntegerForm form = IntegerForm::usual);

// The conv2d or linear whose sums a point rounds; the point itself where it is none's.
std::size_t product_of(const Network& network, std::size_t point);

}  // namespace nibble::inline quantization
