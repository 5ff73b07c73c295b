// SPDX-License-Identifier: Apache-2.0
// A network in training: one step.
#include "float_training/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "float_training/finite.h"
#include "float_training/initialize.h"
#include "float_training/start.h"
#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

constexpr double kLeastScale = 1.0 / 16777216;

// Errors of fp16 vanish below 2^-24: without a loss scale of its own a run takes the usual one.
constexpr LossScale kUsualLossScale = {.start = 65536, .is_dynamic = true};

std::int64_t count_correct(ConstTensorView answers, std::span<const std::int32_t> labels) {
  const auto values = answers.as<float>();
  const std::size_t width = labels.empty() ? 0 : values.size() / labels.size();
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = values.subspan(i * width, width);
    correct += std::ranges::max_element(row) - row.begin() == labels[i] ? 1 : 0;
  }
  return correct;
}

}  // namespace

Recipe with_whole_policy(Recipe recipe) {
  const std::vector<PolicyRule> own = own_rules(recipe.network);
  const LossScale& scale = recipe.policy.loss_scale;
  const bool has_fp16 = recipe.wire == WireFormat::fp16 || recipe.compute == ProductType::fp16;
  if (has_fp16 && scale.start == 1 && !scale.is_dynamic) recipe.policy.loss_scale = kUsualLossScale;
  recipe.policy.rules.insert(recipe.policy.rules.begin(), own.begin(), own.end());
  return recipe;
}

Session::Session(const Recipe& recipe)
    : recipe_(recipe),
      network_(with_formats(recipe.network, recipe.policy)),
      rounder_(network_, recipe.seed),
      placement_(recipe),
      tape_(network_, recipe.policy, rounder_, &placement_, recipe.optimizer.trains_steps),
      optimizer_(recipe.optimizer, network_, recipe.policy, rounder_, tape_.parameters()),
      loss_scale_{recipe.policy.loss_scale.start, 0} {
  if (recipe.start) {
    check_start(network_, *recipe.start);
    optimizer_.set_masters(recipe.start->parameters);
  } else {
    optimizer_.set_masters(initial_parameters(network_, recipe.initialization, recipe.seed));
  }
  optimizer_.refresh_weights();
}

Pass Session::pass_for(std::int64_t images) {
  return {.slices = cut_batch(images, recipe_.batch, recipe_.is_fast),
          .is_training = true,
          .random = {recipe_.seed, 0, static_cast<std::uint32_t>(steps_)},
          .pool = &pool_};
}

StepResult Session::step(const Batcher& batch, double rate) {
  const ConstTensorView images = batch.images();
  const Pass pass = pass_for(images.shape()[0]);
  const Op& loss = network_.nodes.back().op;
  const ConstTensorView answers = tape_.forward(pass, images);

  host_.enter("loss");
  StepResult result{.images = images.shape()[0]};
  std::vector<double> losses(static_cast<std::size_t>(images.shape()[0]));
  image_losses(loss, answers, batch.targets(), losses);
  for (const double each : losses) result.loss_sum += each;
  result.correct = count_correct(answers, batch.targets().labels);
  const bool is_dynamic = recipe_.policy.loss_scale.is_dynamic;
  if (!std::isfinite(result.loss_sum)) explain_loss(batch, result.loss_sum);

  if (error_.elements() != answers.elements()) error_ = Tensor(DType::f32, answers.shape());
  const TensorView error(error_.data(), DType::f32, answers.shape());
  loss_error(loss, answers, batch.targets(), loss_scale_.scale, error);
  tape_.backward(pass, error);

  ++steps_;
  host_.enter("update");
  const bool is_skipped = !optimizer_.step(rate, loss_scale_.scale, is_dynamic);
  host_.leave();
  if (!is_dynamic) return result;
  if (is_skipped) {  // a gradient was not finite
    loss_scale_ = {std::max(loss_scale_.scale / 2, kLeastScale), 0};
  } else if (++loss_scale_.good_steps == recipe_.policy.loss_scale.growth_interval) {
    loss_scale_ = {loss_scale_.scale * 2, 0};
  }
  return result;
}

void Session::set_trace(StepTrace* trace) {
  host_.set_trace(trace);
  tape_.set_trace(trace);
  placement_.set_trace(trace);
}

std::string Session::broken_parameter() const {
  const std::vector<Parameter> parameters = parameters_of(network_);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!is_finite(tape_.parameters()[i]->value.as<float>())) return parameters[i].name;
  }
  return "";
}

void Session::check_parameters() const {
  if (const std::string name = broken_parameter(); !name.empty()) {
    throw Error("train", fmt::format("parameter {} after step {}", name, steps_),
                "numbers that are not finite", "finite ones; a smaller learning rate may help");
  }
}

// The same step again, looking at every value: it gives the same numbers.
void Session::explain_loss(const Batcher& batch, double loss) {
  std::string culprit;
  if (const std::string name = broken_parameter(); !name.empty()) {
    culprit = "parameter " + name;
  } else {
    tape_.set_watcher([&](std::size_t node, ConstTensorView value) {
      if (culprit.empty() && !is_finite(value.as<float>()))
        culprit = "layer " + network_.nodes[node].name;
    });
    tape_.forward(pass_for(batch.images().shape()[0]), batch.images());
    tape_.set_watcher(nullptr);
    if (culprit.empty()) culprit = "layer " + network_.nodes.back().name;
  }
  // Steps as the tables count; the sign of nan is the processor's.
  throw Error("train", fmt::format("loss at step {}", steps_ + 1),
              fmt::format("{}, first in {}", std::fabs(loss), culprit),
              "a finite number; a smaller learning rate may help");
}

Model Session::snapshot() const {
  Model model{network_, {}};
  for (const LayerParameter* parameter : tape_.parameters()) {
    Tensor copy(DType::f32, parameter->value.shape());
    std::memcpy(copy.data(), parameter->value.data(), copy.bytes());
    model.parameters.push_back(std::move(copy));
  }
  return model;
}

void Session::take_steps(const Model& model) {
  const std::vector<Parameter> own = parameters_of(network_);
  const std::vector<Parameter> given = parameters_of(model.network);
  std::vector<Tensor> values = snapshot().parameters;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].kind != "step") continue;
    const auto same = std::ranges::find(given, own[i].name, &Parameter::name);
    if (same == given.end() || same->shape != own[i].shape)
      throw Error("train", "steps of " + own[i].name, "none", "those of the same layers");
    values[i] = copy_of(model.parameters[static_cast<std::size_t>(same - given.begin())].view());
  }
  optimizer_.set_masters(values);
  optimizer_.refresh_weights();
}

std::vector<TensorView> Session::moments() {
  std::vector<TensorView> views;
  const std::vector<Parameter> parameters = parameters_of(network_);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_trained) views.push_back(tape_.parameters()[i]->value.view());
  }
  return views;
}

void Session::put_state(Words& words, std::vector<NamedTensorView>& tensors) const {
  put_integer(words, "steps", steps_);
  put_integer(words, "updates", optimizer_.updates());
  put_number(words, "loss_scale", loss_scale_.scale);
  put_integer(words, "loss_scale.good_steps", loss_scale_.good_steps);
  for (NamedTensorView& each : optimizer_.state()) tensors.push_back(std::move(each));
}

void Session::take_state(const Checkpoint& checkpoint) {
  const Words& words = checkpoint.words;
  loss_scale_ = {number_word(words, "loss_scale"), integer_word(words, "loss_scale.good_steps")};
  optimizer_.set_state(checkpoint, integer_word(words, "updates"));
  steps_ = integer_word(words, "steps");
  optimizer_.refresh_weights();
}

}  // namespace nibble::inline float_training
