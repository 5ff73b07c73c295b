// SPDX-License-Identifier: Apache-2.0
// Which kernels a training step calls.
#include <algorithm>

#include "emit/train_code.h"
#include "graph/model_parts.h"
#include "laws/integer_laws.h"

namespace nibble::inline emit {

std::vector<std::string_view> training_kernels(const Network& network, const TrainPlan& plan) {
  const auto is_any = [&](const auto& test) {
    for (std::size_t i = 1; i <= plan.answer; ++i) {
      if (test(i)) return true;
    }
    return false;
  };
  const auto any_route = [&](const auto& test) {
    return is_any([&](std::size_t i) {
      return std::ranges::any_of(plan.layers[i].routes, [&](const ErrorRoute& route) {
        return route.is_wanted && test(i, route);
      });
    });
  };
  const auto has = [&](bool (*is_kind)(const Op&)) {
    return is_any([&](std::size_t i) { return is_kind(network.nodes[i].op); });
  };
  const auto goes_back = [&](bool (*is_kind)(const Op&)) {
    return any_route(
        [&](std::size_t i, const ErrorRoute&) { return is_kind(network.nodes[i].op); });
  };
  const bool copies = any_route([&](std::size_t i, const ErrorRoute& route) {
    return is<Add>(network.nodes[i].op) && route.buffer != *plan.layers[i].error;
  });
  const bool copies_values = is_any([&](std::size_t i) {
    const Node& node = network.nodes[i];
    return is<Dropout>(node.op) && plan.layers[i].value != plan.layers[node.inputs[0]].value;
  });
  const bool drops = is_any([&](std::size_t i) {
    const auto* dropout = std::get_if<Dropout>(&network.nodes[i].op);
    return dropout != nullptr && halvings_of(dropout->share) > 0;
  });
  const bool joins =
      any_route([](std::size_t, const ErrorRoute& route) { return route.joins.has_value(); });
  const bool has_bias =
      is_any([&](std::size_t i) { return place_of(network, i, "bias").is_there; });

  std::vector<std::string_view> kernels = {"train_fixed"};
  const auto add = [&](bool is_needed, std::string_view name) {
    if (is_needed) kernels.push_back(name);
  };
  add(goes_back(is_product) || goes_back(is<MaxPool>) || has(is_average), "train_window");
  add(has(is_product), "train_product");
  add(goes_back(is_product), "train_product_back");
  add(has(is_product) || has_bias, "train_update");
  add(has(is_product), "train_weight_update");
  add(has_bias, "train_bias_update");
  add(has(is_rectifier) || has(is<MaxPool>), "train_marks");
  add(goes_back(is_rectifier) || goes_back(is<MaxPool>), "train_marks_back");
  add(has(is_rectifier), "train_rectifier");
  add(goes_back(is_rectifier), "train_rectifier_back");
  add(has(is<MaxPool>), "train_max_pool");
  add(goes_back(is<MaxPool>), "train_max_pool_back");
  add(has(is_average), "train_average_pool");
  add(has(is<Add>) || has(is<Bias>) || joins, "train_sum");
  add(copies || copies_values, "train_copy");
  add(has(is_box), "train_box");
  add(drops, "train_dropout");
  kernels.push_back(is<SquaredError>(network.nodes.back().op) ? "train_squared_error"
                                                              : "train_cross_entropy");
  kernels.push_back("train_order");
  return kernels;
}

}  // namespace nibble::inline emit
