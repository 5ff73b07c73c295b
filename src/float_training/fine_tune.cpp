// SPDX-License-Identifier: Apache-2.0
// Trains a model for some more epochs; a checkpoint is optional.
#include "nibble/float_training/fine_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/hash.h"
#include "data/batch_order.h"
#include "epoch_loop/training_data.h"
#include "float_training/batcher.h"
#include "float_training/session.h"
#include "float_training/start.h"
#include "graph/model_parts.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/interrupt.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline float_training {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenTold{100};

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
  recipe.optimizer.trains_steps = !options.before_epoch;
  recipe.schedule = options.schedule;
  recipe.policy.rules = own_rules(recipe.network);
  recipe.start = std::make_shared<const Model>(copy_of(start));
  return recipe;
}

// What an epoch has seen so far; part of a checkpoint.
struct SeenImages {
  std::int64_t images = 0;
  std::int64_t correct = 0;
  double loss = 0;
  double seconds = 0;
};

class FineTuning {
 public:
  FineTuning(const Recipe& recipe, const Dataset& data, const FineTuneOptions& options)
      : recipe_(recipe),
        data_(data),
        options_(options),
        session_(recipe),
        batcher_(data, input_of(recipe.network)) {}

  Model run() {
    const InterruptGuard guard;
    if (has_checkpoint()) resume();
    while (epoch_ < recipe_.epochs) {
      if (options_.before_epoch && seen_.images == 0)
        session_.take_steps(options_.before_epoch(session_.snapshot()));
      train_epoch();
      const FineTunedEpoch row = so_far();
      ++epoch_;
      seen_ = {};
      save();
      if (options_.after_epoch) options_.after_epoch(row);
    }
    if (interrupt_requested()) stop();  // in the last batch
    return session_.snapshot();
  }

 private:
  bool has_checkpoint() const { return !options_.checkpoint.empty(); }

  FineTunedEpoch so_far() const {
    const auto images = static_cast<double>(seen_.images);
    FineTunedEpoch row{.epoch = epoch_ + 1,
                       .loss = seen_.loss / images,
                       .top1 = {},
                       .seconds = seen_.seconds,
                       .share = images / static_cast<double>(data_.size())};
    if (!data_.has_targets()) row.top1 = static_cast<double>(seen_.correct) / images;
    return row;
  }

  void train_epoch() {
    const std::vector<std::int32_t> order = epoch_order(
        static_cast<std::int32_t>(data_.size()), recipe_.seed, static_cast<std::uint32_t>(epoch_));
    const auto batch = static_cast<std::size_t>(recipe_.batch);
    const auto steps = static_cast<std::int64_t>((order.size() + batch - 1) / batch);
    Progress progress(fmt::format("fine-tune {}/{}", epoch_ + 1, recipe_.epochs), data_.size(),
                      {.style = options_.progress});
    const double seconds_before = seen_.seconds;
    for (auto begin = static_cast<std::size_t>(seen_.images); begin < order.size();
         begin += batch) {
      if (interrupt_requested()) stop();
      const std::size_t end = std::min(begin + batch, order.size());
      batcher_.load(std::span(order).subspan(begin, end - begin), recipe_.augment,
                    {recipe_.seed, static_cast<std::uint32_t>(epoch_)});
      const StepResult step = session_.step(
          batcher_,
          rate_at(recipe_.schedule, recipe_.optimizer.rate,
                  {.step = session_.steps(), .steps_per_epoch = steps, .epochs = recipe_.epochs}));
      seen_.images = static_cast<std::int64_t>(end);
      seen_.loss += step.loss_sum;
      seen_.correct += step.correct;
      seen_.seconds = seconds_before + progress.seconds();
      const FineTunedEpoch row = so_far();
      const std::array values = {ProgressValue{"loss", row.loss},
                                 ProgressValue{"top1", row.top1.value_or(0)}};
      progress.update(seen_.images, std::span(values).first(row.top1 ? 2 : 1));
      tell(row);
    }
    session_.check_parameters();
  }

  void tell(const FineTunedEpoch& so_far) {
    if (!options_.during_epoch || Clock::now() - told_ < kBetweenTold) return;
    options_.during_epoch(so_far);
    told_ = Clock::now();
  }

  // All that decides the numbers; the network and the weights of the start are among the settings.
  CheckpointIdentity identity() const {
    return {.kind = "fine-tuning",
            .must_match = {{"settings", digest_of(to_json(recipe_))},
                           {"data_hash", hex(hash_of(data_))}}};
  }

  void save() const {
    if (!has_checkpoint()) return;
    Words words;
    put_integer(words, "epoch", epoch_);
    put_integer(words, "images", seen_.images);
    put_integer(words, "correct", seen_.correct);
    put_number(words, "loss", seen_.loss);
    put_number(words, "seconds", seen_.seconds);
    std::vector<NamedTensorView> tensors;
    session_.put_state(words, tensors);
    save_checkpoint(options_.checkpoint, identity(), words, tensors);
  }

  void resume() {
    std::optional<Checkpoint> checkpoint;
    try {
      checkpoint = load_checkpoint(options_.checkpoint, identity());
    } catch (const Error&) {  // none, or not of this tuning
      return;
    }
    const Words& words = checkpoint->words;
    epoch_ = integer_word(words, "epoch");
    seen_ = {.images = integer_word(words, "images"),
             .correct = integer_word(words, "correct"),
             .loss = number_word(words, "loss"),
             .seconds = number_word(words, "seconds")};
    session_.take_state(*checkpoint);
  }

  [[noreturn]] void stop() const {
    save();
    throw Interrupted(interrupt_signal(),
                      fmt::format("interrupted in epoch {} of {} of fine-tuning; {}",
                                  std::min(epoch_ + 1, recipe_.epochs), recipe_.epochs,
                                  has_checkpoint() ? "the same command goes on from " +
                                                         options_.checkpoint.string()
                                                   : "nothing is kept without a checkpoint"));
  }

  const Recipe& recipe_;
  const Dataset& data_;
  const FineTuneOptions& options_;
  Session session_;
  Batcher batcher_;
  std::int64_t epoch_ = 0;  // done
  SeenImages seen_;
  Clock::time_point told_;
};

}  // namespace

Model fine_tune(const Model& start, const Dataset& data, const FineTuneOptions& options) {
  check_data(start.network, data);
  const Recipe recipe = recipe_for(start, data, options);
  Model model = FineTuning(recipe, data, options).run();
  model.network = start.network;
  return model;
}

}  // namespace nibble::inline float_training
