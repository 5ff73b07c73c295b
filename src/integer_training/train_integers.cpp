// SPDX-License-Identifier: Apache-2.0
// Integer-only training: the loop, with the learner of integers.
#include "nibble/integer_training/train_integers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/name.h"
#include "epoch_loop/run_training.h"
#include "graph/batch_norm.h"
#include "integer_step/choose_place.h"
#include "integer_training/integer_learner.h"
#include "integer_training/rate_course.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline integer_training {
namespace {

bool has_integer_form(const Network& network) {
  try {
    check_integer_form(network);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What has no integer form is refused, and what has one is named.
void check_form(const IntegerRecipe& recipe) {
  try {
    check_integer_form(recipe.network);
  } catch (const Error& error) {
    std::vector<std::string_view> names;
    for (const NamedNetwork& each : named_networks()) {
      if (has_integer_form(parse_network(each.toml, each.name))) names.push_back(each.name);
    }
    throw Error(fmt::format("{}; networks that have one: {}", error.what(), fmt::join(names, ", ")),
                error.kind());
  }
}

// Options that would do nothing in this network.
void check_options(const IntegerRecipe& recipe) {
  const std::vector<Node>& nodes = recipe.network.nodes;
  const bool has_adds =
      std::ranges::any_of(nodes, [](const Node& node) { return is<Add>(node.op); });
  if (recipe.options.residual_bits > 0 && !has_adds)
    throw Error("train", "residual bits", "a network without adds", "one with residual branches");
  if (recipe.options.form == CrossEntropyForm::whole_octaves && is<SquaredError>(nodes.back().op))
    throw Error("train", "loss form", "squared_error", "softmax_cross_entropy, which has two");
  if (recipe.options.statistics == FrozenStatistics::running && !has_batch_norm(recipe.network))
    throw Error("train", "statistics", "running in a network without a batch norm",
                "one with some");
  if (recipe.start && recipe.options.residual_bits > 0)
    throw Error("train", "residual bits", "a model to start from", "weights that are drawn");
  check_average_start(recipe.average_from, recipe.epochs);
}

// A pattern fits a layer with weights, and some layer is left to train.
void check_frozen(const Network& network, const std::vector<std::string>& patterns) {
  std::set<std::size_t> nodes;
  for (const Parameter& parameter : parameters_of(network)) nodes.insert(parameter.node);
  std::set<std::size_t> moving = nodes;
  for (const std::string& pattern : patterns) {
    const auto fits = [&](std::size_t node) { return matches(pattern, network.nodes[node].name); };
    if (std::ranges::none_of(nodes, fits)) {
      throw Error("train", "layers to freeze", in_quotes(pattern),
                  "a name or pattern of a layer with weights");
    }
    std::erase_if(moving, fits);
  }
  if (moving.empty() && !patterns.empty())
    throw Error("train", "layers to freeze", "all of them", "at least one that is left to train");
}

// With the settings as they will run.
IntegerRecipe complete(IntegerRecipe recipe, const RunSettings& settings,
                       const TrainingData& data) {
  static_cast<RunSettings&>(recipe) = settings;
  recipe.options.seed = settings.seed;
  const auto images = static_cast<std::int64_t>(data.indices.size());
  if (recipe.batch > images) {
    throw Error("train", "batch", std::to_string(recipe.batch),
                fmt::format("at most {}, the images that train", images));
  }
  return recipe;
}

}  // namespace

void check_integers(const IntegerRecipe& recipe) {
  check_options(recipe);
  check_course(recipe);
  check_form(recipe);
  for (const auto& [layer, choice] : recipe.options.roundings.layers)
    find_node(recipe.network, layer);
  check_frozen(recipe.network, recipe.options.frozen);
  if (const std::string& place = recipe.options.place; !place.empty() && !is_auto(place))
    check_place(recipe.network, parse_place(place));
}

TrainResult train_integers(const IntegerRecipe& recipe, const TrainOptions& options) {
  check_integers(recipe);
  return run_training(recipe, options, [&](const RunSettings& settings, const TrainingData& data) {
    return std::make_unique<IntegerLearner>(complete(recipe, settings, data), data,
                                            options.communicator);
  });
}

}  // namespace nibble::inline integer_training
