// SPDX-License-Identifier: Apache-2.0
// A precision policy: which numbers of training are kept in which format.
#include "nibble/float_training/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/name.h"
#include "float_training/weight_quantizer.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

constexpr std::array<std::string_view, kRoles> kNames = {
    "weight", "activation", "error", "gradient", "momentum", "update", "master", "accumulator"};

bool is_of_parameters(Role role) {
  return role == Role::weight || role == Role::gradient || role == Role::momentum ||
         role == Role::update || role == Role::master;
}

// Layers that a machine would do while it writes the value of the layer before.
bool is_epilogue(const Op& op) {
  return is<Bias>(op) || is<BatchNorm>(op) || is<Relu>(op) || is<Relu6>(op) ||
         is<FakeQuantize>(op) || is<Dropout>(op);
}

// Layers that only move numbers: what was rounded before stays so.
bool only_moves(const Op& op) {
  return is<MaxPool>(op) || is<Concat>(op) || is<Slice>(op) || is<Pad>(op) || is<Flatten>(op);
}

bool has_role(const Network& network, const RoundingPoints& points, std::size_t node, Role role,
              const std::vector<Parameter>& parameters, const std::vector<std::string>& kinds) {
  if (role == Role::activation) return points.activation[node];
  if (role == Role::error) return points.error[node];
  if (role == Role::accumulator) return is_product(network.nodes[node].op);
  return std::ranges::any_of(parameters, [&](const Parameter& parameter) {
    return parameter.node == node && parameter.is_trained &&
           std::ranges::find(kinds, parameter.kind) != kinds.end() &&
           !(role == Role::weight && has_own_rounding(network.nodes[node], parameter.kind));
  });
}

}  // namespace

std::string_view name_of(Role role) {
  return kNames[static_cast<std::size_t>(role)];
}

Role role_by_name(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    throw Error("policy", "role", fmt::format("'{}'", name),
                fmt::format("{}", fmt::join(kNames, ", ")));
  }
  return static_cast<Role>(found - kNames.begin());
}

const RoundingRule* PrecisionPolicy::find(Role role, std::string_view layer,
                                          std::string_view kind) const {
  const RoundingRule* found = nullptr;
  for (const PolicyRule& rule : rules) {
    if (std::ranges::find(rule.roles, role) == rule.roles.end()) continue;
    if (is_of_parameters(role) && std::ranges::find(rule.kinds, kind) == rule.kinds.end()) continue;
    if (matches(rule.layers, layer)) found = &rule.rounding;
  }
  if (found == nullptr || (role != Role::accumulator && !found->rounds())) return nullptr;
  return found;
}

void check_policy(const PrecisionPolicy& policy, const Network& network) {
  const RoundingPoints points = rounding_points(network);
  const std::vector<Parameter> parameters = parameters_of(network);
  for (const PolicyRule& rule : policy.rules) {
    for (const Role role : rule.roles) {
      bool fits = false;
      std::string names;  // of the layers that have the role
      for (std::size_t node = 0; node < network.nodes.size(); ++node) {
        if (!has_role(network, points, node, role, parameters, rule.kinds)) continue;
        const std::string& name = network.nodes[node].name;
        fits = fits || matches(rule.layers, name);
        if (names.size() < 100) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
      }
      if (fits) continue;
      throw Error("policy", rule.place.empty() ? "layers of " + policy.name : rule.place,
                  fmt::format("'{}' for the role {}", rule.layers, name_of(role)),
                  fmt::format("a pattern that fits one of {}: {}{}", network.name, names,
                              names.size() < 100 ? "" : ", …"));
    }
  }
}

RoundingPoints rounding_points(const Network& network) {
  const std::size_t count = network.nodes.size();
  std::vector<std::size_t> users(count);
  std::vector<std::size_t> user(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t input : network.nodes[i].inputs) {
      ++users[input];
      user[input] = i;
    }
  }
  RoundingPoints points{std::vector<bool>(count), std::vector<bool>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const Op& op = network.nodes[i].op;
    if (is_loss(op) || only_moves(op)) continue;
    const bool joins_next = users[i] == 1 && is_epilogue(network.nodes[user[i]].op);
    points.activation[i] = !joins_next && !is<FakeQuantize>(op);  // which rounds by itself
    // A product whose error comes through a batch norm takes it as an operand all the same.
    points.error[i] = (!joins_next && !is<Input>(op)) ||
                      (joins_next && is_product(op) && is<BatchNorm>(network.nodes[user[i]].op));
  }
  return points;
}

std::vector<PolicyRule> own_rules(const Network& network) {
  std::vector<PolicyRule> rules;
  const auto add = [&](Role role, const Node& node, const Precision& precision) {
    if (precision.is_float32()) return;
    PolicyRule rule;
    rule.roles = {role};
    rule.layers = node.name;
    rule.rounding.precision = precision;
    rules.push_back(std::move(rule));
  };
  for (const Node& node : network.nodes) {
    if (!is<FakeQuantize>(node.op)) add(Role::activation, node, node.value);
    if (!has_own_rounding(node, "weight")) add(Role::weight, node, node.weight);
  }
  return rules;
}

Network with_formats(Network network, const PrecisionPolicy& policy) {
  const RoundingPoints points = rounding_points(network);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    Node& node = network.nodes[i];
    const RoundingRule* value =
        points.activation[i] ? policy.find(Role::activation, node.name) : nullptr;
    const RoundingRule* weight =
        is_product(node.op) ? policy.find(Role::weight, node.name) : nullptr;
    if (!is<FakeQuantize>(node.op)) node.value = value != nullptr ? value->precision : Precision{};
    if (!has_own_rounding(node, "weight"))
      node.weight = weight != nullptr ? weight->precision : Precision{};
  }
  return network;
}

}  // namespace nibble::inline float_training
