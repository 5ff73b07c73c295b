// SPDX-License-Identifier: Apache-2.0
// Grows a network node by node.
#include "foreign/onnx/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/name.h"
#include "graph/parameters.h"
#include "graph/shapes.h"

namespace nibble::inline foreign {
namespace {

constexpr std::size_t kLongestName = 80;

// Scopes are parted by dots, what else is not allowed becomes '_'.
std::string valid_name(std::string_view wish) {
  std::string name;
  for (const char c : wish.substr(0, kLongestName)) {
    if (c != '/') {
      name += c;
    } else if (!name.empty() && name.back() != '.') {
      name += '.';
    }
  }
  return name.empty() ? "layer" : file_part(name);
}

}  // namespace

std::string Builder::free_name(std::string_view wish) {
  const std::string name = valid_name(wish);
  std::size_t& count = wishes_[name];
  std::string candidate = name;
  for (++count; !names_.insert(candidate).second; ++count) {
    candidate = fmt::format("{}.{}", name, count);
  }
  return candidate;
}

std::size_t Builder::add(std::string_view wished_name, Node node, std::vector<Tensor> parameters) {
  node.name = free_name(wished_name);
  check_node(node, shapes_.size());
  std::vector<Shape> inputs;
  for (const std::size_t input : node.inputs) inputs.push_back(shapes_[input]);
  shapes_.push_back(shape_of(node, inputs));
  model_.network.nodes.push_back(std::move(node));
  std::ranges::move(parameters, std::back_inserter(model_.parameters));
  return last();
}

void Builder::add_bias_to_last(Tensor bias) {
  Op& op = model_.network.nodes.back().op;
  if (auto* conv = std::get_if<Conv2d>(&op)) conv->has_bias = true;
  if (auto* linear = std::get_if<Linear>(&op)) linear->has_bias = true;
  model_.parameters.push_back(std::move(bias));
}

Model Builder::finish(std::string name) {
  model_.network.name = valid_name(name);
  (void)checked_parameters(model_);
  return std::move(model_);
}

}  // namespace nibble::inline foreign
