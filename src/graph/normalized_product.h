// SPDX-License-Identifier: Apache-2.0
// Batch norms, and products whose sums go into one and nowhere else.
#pragma once

#include <cstddef>

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// A convolution or linear layer without a bias that one batch norm reads, and nobody else. Its sums
// are not rounded to int8 by themselves: the norm does that.
bool is_normalized_product(const Network& network, std::size_t node);

bool has_batch_norm(const Network& network);

}  // namespace nibble::inline graph
