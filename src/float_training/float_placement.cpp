// SPDX-License-Identifier: Apache-2.0
// From rules to products on a device.
#include "float_training/float_placement.h"

#include <algorithm>
#include <string>

#include "backend/place_rules.h"
#include "core/name.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

constexpr std::string_view kHost = "cpu";
constexpr std::size_t kMostLayersShown = 400;

std::string products_of(const Network& network) {
  std::string names;
  for (const Node& node : network.nodes) {
    if (is_product(node.op)) names += (names.empty() ? "" : ", ") + node.name;
  }
  return shortened(names, kMostLayersShown);
}

// What no device computes is refused where a rule asks for it by name; a pattern may fit more.
void check_rule(const Network& network, const PlaceRule& rule) {
  const auto refuse = [&](std::string_view expected) {
    throw Error("place", "rule", in_quotes(to_string({rule})), expected, ErrorKind::usage);
  };
  if (rule.device == kHost) return;
  if (rule.pass == TrainPass::update)
    refuse("forward, input_error or weight_gradient: the optimizer of floats is the CPU's");
  const bool fits_product = std::ranges::any_of(network.nodes, [&](const Node& node) {
    return is_product(node.op) && matches(rule.nodes, node.name);
  });
  if (!fits_product)
    refuse("convolutions and linear layers, " + products_of(network) +
           ": the rest of float training is the CPU's");
}

std::string device_of(const std::vector<PlaceRule>& rules, const Node& node, TrainPass pass) {
  std::string device(kHost);
  for (const PlaceRule& rule : rules) {
    if (rule.fits(node.name, pass)) device = rule.device;
  }
  return device;
}

}  // namespace

FloatPlacement::FloatPlacement(const Recipe& recipe) {
  if (recipe.place.empty()) return;
  const Network& network = recipe.network;
  if (is_auto(recipe.place))
    throw Error("place", "float training", in_quotes(recipe.place),
                "a device or rules: who plans a run says them before it begins", ErrorKind::usage);
  const std::vector<PlaceRule> rules = parse_place(recipe.place);
  check_place(network, rules);
  for (const PlaceRule& rule : rules) check_rule(network, rule);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& node = network.nodes[i];
    if (!is_product(node.op)) continue;
    const auto is_away = [&](TrainPass pass) {
      const std::string name = device_of(rules, node, pass);
      if (name == kHost) return false;
      if (!device_) device_ = make_float_device(name);
      if (name != device_->name())
        throw Error("place", "devices of float training", device_->name() + " and " + name,
                    "one beside the CPU", ErrorKind::usage);
      return true;
    };
    const bool has_forward = is_away(TrainPass::forward);
    const bool has_input_error = is_away(TrainPass::input_error);
    const bool has_weight_gradient = is_away(TrainPass::weight_gradient);
    if (!has_forward && !has_input_error && !has_weight_gradient) continue;
    if (recipe.policy.find(Role::accumulator, node.name) != nullptr)
      throw Error("place", "layer " + node.name, "simulated accumulators on " + device_->name(),
                  "cpu, which alone has them", ErrorKind::usage);
    places_.emplace(i, ProductPlace{*device_, recipe.wire, recipe.compute, traffic_, host_,
                                    has_forward, has_input_error, has_weight_gradient});
  }
}

void FloatPlacement::set_trace(StepTrace* trace) {
  host_.set_trace(trace);
  if (device_) device_->set_trace(trace);
}

const ProductPlace* FloatPlacement::of(std::size_t node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace nibble::inline float_training
