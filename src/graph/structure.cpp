// SPDX-License-Identifier: Apache-2.0
// Checks names, order, arity and precisions of nodes.
#include "graph/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

struct Arity {
  std::size_t least;
  std::size_t most;
};

Arity arity_of(const Op& op) {
  if (is<Input>(op)) return {0, 0};
  if (is<Add>(op) || is<Concat>(op)) return {2, SIZE_MAX};
  return {1, 1};
}

void check_inputs(const Node& node, std::size_t index) {
  const auto [least, most] = arity_of(node.op);
  if (node.inputs.size() < least || node.inputs.size() > most) {
    fail_node(node, "inputs", std::to_string(node.inputs.size()),
              least == most ? std::to_string(least) : fmt::format("{} or more", least));
  }
  for (const std::size_t input : node.inputs) {
    if (input >= index) {
      fail_node(node, "input", fmt::format("node {}", input),
                fmt::format("one before itself, which is node {}", index));
    }
  }
}

void check_precision(const Node& node, std::string_view what, const Precision& precision) {
  try {
    check(precision.format.element);
    check_combination(precision.format, precision.rounding, precision.overflow);
  } catch (const Error& error) {
    throw Error("network",
                fmt::format("node {} ({}): {}: {}", in_quotes(node.name), name_of(node.op), what,
                            error.reason()),
                input_kind(error));
  }
}

// A value that nobody takes is a slip of the pen: the answer alone may be free.
void check_readers(const Network& network) {
  std::vector<bool> is_read(network.nodes.size());
  for (const Node& node : network.nodes) {
    for (const std::size_t input : node.inputs) is_read[input] = true;
  }
  for (std::size_t i = 0; i + 1 < network.nodes.size(); ++i) {
    if (!is_read[i]) fail_node(network.nodes[i], "value", "nobody who takes it", "a later node");
  }
}

}  // namespace

bool is_node_name(std::string_view name) {
  return !name.empty() && name == file_part(name);
}

bool has_weight(const Op& op) {
  return is_product(op);
}

void check_node(const Node& node, std::size_t index) {
  if (!is_node_name(node.name)) {
    fail_node(node, "name", in_quotes(node.name),
              "letters, digits, '-', '_' and '.', of them no '-' or '.' first");
  }
  if (index > 0 && is<Input>(node.op)) {
    fail_node(node, "position", std::to_string(index), "the first");
  }
  check_inputs(node, index);
  check_precision(node, "value", node.value);
  check_precision(node, "weight", node.weight);
  if (!has_weight(node.op) && node.weight != Precision{}) {
    fail_node(node, "format of its weight", to_string(node.weight.format),
              "none: it has no weight");
  }
}

void check_structure(const Network& network, const Limits& most) {
  if (std::cmp_greater(network.nodes.size(), most.nodes)) {
    throw Error("network", "nodes", std::to_string(network.nodes.size()),
                at_most("nodes", most.nodes), ErrorKind::limit);
  }
  (void)input_of(network);
  check_name("network", "name", network.name);
  for (const std::string& each : network.class_names) check_name("network", "class name", each);
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    check_name_length("network", "name of a node", node.name);
    check_node(node, i);
    if (!names.insert(node.name).second) fail_node(node, "name", "one that is taken", "a new one");
    if (is_loss(node.op) && i + 1 != network.nodes.size()) {
      fail_node(node, "position", std::to_string(i), "the last");
    }
  }
  check_readers(network);
}

}  // namespace nibble::inline graph
