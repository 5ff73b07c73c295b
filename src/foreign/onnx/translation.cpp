// SPDX-License-Identifier: Apache-2.0
// Names and their values while an ONNX graph is translated.
#include "foreign/onnx/translation.h"

#include <fmt/format.h>

#include <utility>

#include "graph/node_error.h"

namespace nibble::inline foreign {

Translation::Translation(const onnx::GraphProto& graph, std::filesystem::path folder,
                         std::size_t bytes)
    : beside_(std::move(folder)), budget_(bytes) {
  for (const auto& each : graph.initializer()) initializers_.emplace(each.name(), &each);
}

const Value* Translation::find(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return &found->second;
  const auto stored = initializers_.find(name);
  if (stored == initializers_.end()) return nullptr;
  return &values_.emplace(name, constant_from(*stored->second, beside_)).first->second;
}

const Value& Translation::value(const NodeView& node, std::size_t input) {
  if (!node.has_input(input)) {
    node.fail("inputs", std::to_string(node.inputs()), fmt::format("at least {}", input + 1));
  }
  const Value* found = find(node.input(input));
  if (found == nullptr) {
    node.fail(fmt::format("input {}", in_quotes(node.input(input))), "nothing",
              "what a node before this one gives");
  }
  return *found;
}

const Activation& Translation::activation(const NodeView& node, std::size_t input) {
  const auto* found = std::get_if<Activation>(&value(node, input));
  if (found == nullptr) throw Unsupported{"of a constant"};
  if (found->clip) {
    const auto [low, high] = *found->clip;
    throw Unsupported{
        fmt::format("after a Clip to {} … {}: only 0 … 6, 0 … infinity and those "
                    "before QuantizeLinear are known",
                    low, high)};
  }
  return *found;
}

const Constant& Translation::constant(const NodeView& node, std::size_t input) {
  const auto* found = std::get_if<Constant>(&value(node, input));
  if (found == nullptr) throw Unsupported{fmt::format("whose input {} is computed", input)};
  return *found;
}

const Constant* Translation::find_constant(const NodeView& node, std::size_t input) {
  return node.has_input(input) ? std::get_if<Constant>(&value(node, input)) : nullptr;
}

std::vector<const Constant*> Translation::constants(const NodeView& node) {
  std::vector<const Constant*> all;
  for (std::size_t i = 0; i < node.inputs(); ++i) all.push_back(find_constant(node, i));
  return all;
}

const Activation& Translation::picture(const NodeView& node, std::size_t input) {
  const Activation& x = activation(node, input);
  if (x.extents.size() != 3 || builder_.shape(x.node).rank() != 3) {
    throw Unsupported{fmt::format("of ({}), which is no picture", fmt::join(x.extents, ", "))};
  }
  return x;
}

void Translation::set(const NodeView& node, Value value) {
  if (initializers_.contains(node.output()) || !values_.emplace(node.output(), value).second) {
    node.fail("output", in_quotes(node.output()), "a name that is not taken");
  }
  if (const auto* x = std::get_if<Activation>(&value)) first_names_.emplace(x->node, node.output());
}

Activation Translation::activation_of(std::size_t node) const {
  const Shape& shape = builder_.shape(node);
  if (shape.rank() == 3) return {.node = node, .extents = {shape[2], shape[0], shape[1]}};
  return {.node = node, .extents = extents_of(shape)};
}

// Other names of the same node would be readers of the first one.
bool Translation::is_read_once(std::size_t node, const std::string& name) const {
  const auto first = first_names_.find(node);
  const auto count = readers.find(name);
  return first != first_names_.end() && first->second == name && count != readers.end() &&
         count->second == 1;
}

Extents Translation::extents_with_batch(const Activation& x) const {
  Extents extents = x.extents;
  extents.insert(extents.begin(), batch);
  return extents;
}

}  // namespace nibble::inline foreign
