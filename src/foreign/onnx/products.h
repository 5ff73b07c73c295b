// SPDX-License-Identifier: Apache-2.0
// Products with constant weights, whatever ONNX calls them.
#pragma once

#include <optional>

#include "foreign/onnx/translation.h"

namespace nibble::inline foreign {

// A convolution with the node's attributes; weights (out, in / groups, y, x).
Value add_convolution(Translation& translation, const NodeView& node, const Activation& x,
                      const Constant& weight, std::optional<Tensor> bias);

// Of a vector with weights (out, in), or (in, out) where they are not transposed.
Value add_linear(Translation& translation, const NodeView& node, const Activation& x,
                 const Constant& weight, bool is_transposed, std::optional<Tensor> bias);

// The sum of two values of one shape.
Value add_sum(Translation& translation, const NodeView& node, const Activation& a,
              const Activation& b);

// One number a channel of any shape that broadcasts to (…, channels).
Tensor bias_of(Translation& translation, const NodeView& node, const Constant& constant,
               std::int64_t channels);

}  // namespace nibble::inline foreign
