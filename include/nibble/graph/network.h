// SPDX-License-Identifier: Apache-2.0
// A network as data: nodes in the order of execution, each with one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/core/tensor.h"
#include "nibble/graph/op.h"
#include "nibble/numerics/format.h"
#include "nibble/numerics/rounding.h"

namespace nibble::inline graph {

// How the numbers of one tensor are kept.
struct Precision {
  Format format;  // fp32: as they come
  Rounding rounding = {};
  Overflow overflow = Overflow::native;

  bool is_float32() const;
  bool operator==(const Precision&) const = default;
};

struct Node {
  std::string name;  // letters, digits, '-', '_', '.' (no '-' or '.' first); unique in the network
  Op op;
  std::vector<std::size_t> inputs = {};  // nodes before this one
  Precision value = {};                  // of what it gives
  Precision weight = {};                 // of its weight, where it has one
  Precision bias = {};                   // and of its bias
  bool operator==(const Node&) const = default;
};

// nodes[0] is the Input. A loss, if any, is the last node; its input is what the network answers.
struct Network {
  std::string name;  // as check_name has it, and so have the class names
  std::vector<Node> nodes;
  std::vector<std::string> class_names;
  bool operator==(const Network&) const = default;
};

// Index of the node that answers: the last one that is no loss.
std::size_t output_of(const Network& network);

const Input& input_of(const Network& network);

// Index of the node with this name; throws where there is none.
std::size_t find_node(const Network& network, std::string_view name);

// The shape of every node's value for one example, without the batch. Throws, naming the node,
// where inputs do not fit. It is what checks a network: names, order and arity included.
std::vector<Shape> infer_shapes(const Network& network);

// A tensor that the network needs, named NODE.KIND.
struct Parameter {
  std::string name;
  std::size_t node = 0;
  std::string_view kind;   // weight, bias, step; batch norm: scale, shift, mean, variance
  Shape shape;             // conv weight (out, ky, kx, in / groups), linear weight (out, in)
  bool is_trained = true;  // the running mean and variance are not
};

std::vector<Parameter> parameters_of(const Network& network);

// Which of these parameters is the node's of that kind; their number where there is none.
std::size_t find_parameter(std::span<const Parameter> parameters, std::size_t node,
                           std::string_view kind);

// Multiply-accumulates of every node for one example; 0 for those without products.
std::vector<std::int64_t> multiply_accumulates(const Network& network);

// A network with its numbers, in the order of parameters_of.
struct Model {
  Network network;
  std::vector<Tensor> parameters;
};

Model copy_of(const Model& model);

// Whether a tensor can be that parameter: it has its shape or is packed, which weights of integers
// of b < 8 bits may be: one after another, least significant bit first, ⌈elements·b / 8⌉ u8.
bool fits(const Network& network, const Parameter& parameter, const Tensor& tensor);
bool is_packed(const Network& network, const Parameter& parameter, const Tensor& tensor);

// Hash of all parameters: names, element types, shapes, bytes.
std::uint64_t weights_hash(const Model& model);

}  // namespace nibble::inline graph
