// SPDX-License-Identifier: Apache-2.0
// How single ONNX nodes become nodes of a network; a file a family of them.
#pragma once

#include <optional>
#include <string_view>

#include "foreign/onnx/translation.h"

namespace nibble::inline foreign {

// Products with constant weights, whatever ONNX calls them.

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

// Adds what the node needs to the network and gives its first output.
using Converter = Value (*)(Translation& translation, const NodeView& node);

Converter find_converter(std::string_view domain, std::string_view op);  // null: none

Value convert_conv(Translation& translation, const NodeView& node);
Value convert_gemm(Translation& translation, const NodeView& node);
Value convert_mat_mul(Translation& translation, const NodeView& node);

Value convert_max_pool(Translation& translation, const NodeView& node);
Value convert_average_pool(Translation& translation, const NodeView& node);
Value convert_global_average_pool(Translation& translation, const NodeView& node);
Value convert_reduce_mean(Translation& translation, const NodeView& node);

Value convert_add(Translation& translation, const NodeView& node);
Value convert_sub(Translation& translation, const NodeView& node);
Value convert_sum(Translation& translation, const NodeView& node);
Value convert_concat(Translation& translation, const NodeView& node);

Value convert_relu(Translation& translation, const NodeView& node);
Value convert_clip(Translation& translation, const NodeView& node);
Value convert_batch_norm(Translation& translation, const NodeView& node);
Value convert_identity(Translation& translation, const NodeView& node);
Value convert_cast(Translation& translation, const NodeView& node);

Value convert_slice(Translation& translation, const NodeView& node);
Value convert_pad(Translation& translation, const NodeView& node);

Value convert_shape(Translation& translation, const NodeView& node);
Value convert_flatten(Translation& translation, const NodeView& node);
Value convert_reshape(Translation& translation, const NodeView& node);
Value convert_squeeze(Translation& translation, const NodeView& node);
Value convert_unsqueeze(Translation& translation, const NodeView& node);

// Quantized values are those numbers that their integers stand for; of the domain com.microsoft
// those with an asterisk.
Value convert_quantize_linear(Translation& translation, const NodeView& node);
Value convert_dequantize_linear(Translation& translation, const NodeView& node);
Value convert_q_linear_conv(Translation& translation, const NodeView& node);
Value convert_q_linear_mat_mul(Translation& translation, const NodeView& node);
Value convert_q_gemm(Translation& translation, const NodeView& node);                        // *
Value convert_q_linear_add(Translation& translation, const NodeView& node);                  // *
Value convert_q_linear_average_pool(Translation& translation, const NodeView& node);         // *
Value convert_q_linear_global_average_pool(Translation& translation, const NodeView& node);  // *

// Answers of a quantized network that end in a Clip to -a … a: 16 bits, as write_onnx has them.
// Nothing where they are no such answers.
std::optional<Activation> rounded_answers(Translation& translation, Activation answers);

}  // namespace nibble::inline foreign
