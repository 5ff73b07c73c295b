// SPDX-License-Identifier: Apache-2.0
// What emitted training cannot do.
#include "emit/train_files.h"

#include <fmt/format.h>

#include "emit/c_text.h"
#include "graph/model_parts.h"
#include "graph/node_error.h"
#include "graph/operation_table.h"
#include "laws/integer_laws.h"
#include "nibble/core/error.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline emit {
namespace {

void check_options(const IntegerOptions& options) {
  std::string refused;
  const auto refuse = [&](bool is_given, std::string_view what) {
    if (is_given) refused += fmt::format("{}{}", refused.empty() ? "" : ", ", what);
  };
  refuse(options.rule != ShiftRule::exact, "shifts that are not exact");
  refuse(options.form != CrossEntropyForm::fractional, "a loss of whole octaves");
  refuse(options.roundings.all != RoundingChoice{} || !options.roundings.layers.empty(),
         "other roundings");
  const auto* update = std::get_if<ShiftUpdate>(&options.update);
  refuse(update == nullptr, "the update rule sgd");
  refuse(update != nullptr && update->momentum != 0, "momentum");
  refuse(update != nullptr && update->fraction_bits != 0, "fraction bits");
  refuse(update != nullptr && update->has_decay, "weight decay");
  refuse(!options.frozen.empty(), "frozen layers");
  if (!refused.empty())
    throw Error("emit", "settings of training", refused, "the trainer's usual ones");
}

void check_terms(const Node& node, std::string_view sums, std::int64_t terms) {
  if (terms <= kSafeTerms) return;
  throw Error("emit", fmt::format("terms of {} of layer {}", sums, node.name),
              std::to_string(terms),
              fmt::format("at most {}, which 32 bits hold: a smaller batch or layer", kSafeTerms));
}

}  // namespace

void check_trainable_layers(const Network& network) {
  std::string refused;
  for (const Node& node : network.nodes) {
    if (support_of(node.op, Capability::emit_training).is_there) continue;
    refused += fmt::format("{}{} ({})", refused.empty() ? "" : ", ", node.name, name_of(node.op));
  }
  if (!refused.empty())
    throw Error("emit", "layers to train", refused, "layers with emitted training");
  if (!is_loss(network.nodes.back().op)) {
    throw Error("emit", fmt::format("last layer of {}", network.name),
                std::string(name_of(network.nodes.back().op)), "a loss");
  }
  const auto* loss = std::get_if<SoftmaxCrossEntropy>(&network.nodes.back().op);
  if (loss != nullptr && loss->smoothing > 0)
    throw Error("emit", fmt::format("loss of {}", network.name), "smoothing", "none");
}

void check_trainable(const Model& start, const TrainEmitSettings& settings) {
  if (!is_c_identifier(settings.prefix))
    throw Error("emit", "prefix", in_quotes(settings.prefix), "a C identifier");
  check_trainable_layers(start.network);
  check_options(settings.options);
  if (!is_integer_model(start)) {
    throw Error("emit", "weights to train", "a model without int8 weights and exponents",
                "one of nibble train --arith int8");
  }
  const auto check_range = [](std::string_view what, std::int64_t got, std::int64_t most) {
    if (got < 1 || got > most)
      throw Error("emit", what, std::to_string(got), fmt::format("1 to {}", most));
  };
  check_range("batch", settings.batch, 1024);
  check_range("steps of the check", settings.check_steps, 1'000'000);
  check_range("images of the check", settings.check_images, 65'535);
}

void check_sums(const Network& network, const TrainPlan& plan, std::int64_t batch) {
  for (std::size_t i = 1; i <= plan.answer; ++i) {
    const Node& node = network.nodes[i];
    if (!is_product(node.op)) continue;
    const Picture& in = plan.pictures[node.inputs[0]];
    const Picture& out = plan.pictures[i];
    std::int64_t taps = 1;
    std::int64_t depth = in.elements();
    std::int64_t outs = out.channels;
    if (const auto* conv = std::get_if<Conv2d>(&node.op)) {
      taps = conv->kernel.y * conv->kernel.x;
      depth = in.channels / conv->groups;
      outs /= conv->groups;
    }
    check_terms(node, "values", taps * depth);
    check_terms(node, "errors", taps * outs);
    check_terms(node, "gradients", batch * out.pixels());
  }
  if (plan.memory > std::size_t{INT32_MAX})
    throw Error("emit", "memory of a step", std::to_string(plan.memory), "less than 2 GiB");
}

}  // namespace nibble::inline emit
