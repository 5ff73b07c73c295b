// SPDX-License-Identifier: Apache-2.0
// A trained network without what only training needs.
#pragma once

#include "nibble/graph/network.h"

namespace nibble::inline graph {

// The same function without batch norms and dropouts. A batch norm that alone reads a conv2d or a
// linear goes into its weight and bias, in double arithmetic, and so does a bias node; a batch norm
// elsewhere becomes a conv2d of 1×1 with a group a channel, under its own name, and is refused, by
// name, where its input is a vector. The nodes that stay keep their names.
Model fold_batch_norm(Model model);

}  // namespace nibble::inline graph
