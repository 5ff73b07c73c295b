// SPDX-License-Identifier: Apache-2.0
// Trains a model for some more epochs, in memory.
#include "nibble/train/fine_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "nibble/data/batch_order.h"
#include "nibble/loop/check_data.h"
#include "train/batcher.h"
#include "train/session.h"
#include "train/start.h"

namespace nibble {
namespace {

Recipe recipe_for(const Model& start, const Dataset& data, const FineTuneOptions& options) {
  Recipe recipe;
  const Op loss = data.has_targets() ? Op(SquaredError{}) : Op(SoftmaxCrossEntropy{});
  recipe.network = with_loss(start.network, loss);
  recipe.name = recipe.network.name;
  recipe.augment = options.augment;
  recipe.epochs = options.epochs;
  recipe.batch = options.batch;
  recipe.seed = options.seed;
  recipe.optimizer = options.optimizer;
  recipe.schedule = options.schedule;
  recipe.policy.rules = own_rules(recipe.network);
  recipe.start = std::make_shared<const Model>(copy_of(start));
  return recipe;
}

class FineTuning {
 public:
  FineTuning(const Recipe& recipe, const Dataset& data)
      : recipe_(recipe), data_(data), session_(recipe), batcher_(data, input_of(recipe.network)) {}

  FineTunedEpoch train_epoch(std::int64_t epoch, ProgressStyle style) {
    const std::vector<std::int32_t> order = epoch_order(
        static_cast<std::int32_t>(data_.size()), recipe_.seed, static_cast<std::uint32_t>(epoch));
    const auto batch = static_cast<std::size_t>(recipe_.batch);
    const auto steps = static_cast<std::int64_t>((order.size() + batch - 1) / batch);
    Progress progress(fmt::format("fine-tune {}/{}", epoch + 1, recipe_.epochs), data_.size(),
                      {.style = style});
    FineTunedEpoch row{.epoch = epoch + 1};
    double loss = 0;
    std::int64_t correct = 0;
    for (std::size_t begin = 0; begin < order.size(); begin += batch) {
      const std::size_t end = std::min(begin + batch, order.size());
      batcher_.load(std::span(order).subspan(begin, end - begin), recipe_.augment,
                    {recipe_.seed, static_cast<std::uint32_t>(epoch)});
      const StepResult step = session_.step(
          batcher_,
          rate_at(recipe_.schedule, recipe_.optimizer.rate,
                  {.step = session_.steps(), .steps_per_epoch = steps, .epochs = recipe_.epochs}));
      loss += step.loss_sum;
      correct += step.correct;
      row.loss = loss / static_cast<double>(end);
      row.top1 = static_cast<double>(correct) / static_cast<double>(end);
      const std::array values = {ProgressValue{"loss", row.loss}, ProgressValue{"top1", row.top1}};
      progress.update(static_cast<std::int64_t>(end), values);
    }
    session_.check_parameters();
    row.seconds = progress.seconds();
    return row;
  }

  Model result() const { return session_.snapshot(); }

 private:
  const Recipe& recipe_;
  const Dataset& data_;
  Session session_;
  Batcher batcher_;
};

}  // namespace

Model fine_tune(const Model& start, const Dataset& data, const FineTuneOptions& options) {
  check_data(start.network, data);
  const Recipe recipe = recipe_for(start, data, options);
  FineTuning tuning(recipe, data);
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const FineTunedEpoch row = tuning.train_epoch(epoch, options.progress);
    if (options.after_epoch) options.after_epoch(row);
  }
  Model model = tuning.result();
  model.network = start.network;
  return model;
}

}  // namespace nibble
