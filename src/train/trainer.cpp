// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: batches, evaluation, rows and events.
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "nibble/core/error.h"
#include "nibble/data/batch_order.h"
#include "nibble/graph/model_file.h"
#include "nibble/run/interrupt.h"
#include "nibble/run/provenance.h"
#include "train/moments.h"
#include "train/run_account.h"
#include "train/probe.h"

namespace nibble {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Without a validation split the train split stands in for it.
double metric_of(const EpochRow& row, Metric metric) {
  const bool is_held_out = metric == Metric::val_loss || metric == Metric::val_top1;
  const bool has_split = is_held_out && row.val_loss.has_value();
  if (metric == Metric::val_loss || metric == Metric::train_loss) {
    return has_split ? *row.val_loss : row.train_loss.value_or(0);
  }
  return has_split ? row.val_top1.value_or(0) : row.train_top1.value_or(0);
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, const TrainingData& data, const TrainOptions& options,
                 RunFolder& folder)
    : recipe_(recipe), data_(data), options_(options), folder_(folder), session_(recipe) {
  early_.best.metric = recipe.early_stopping.metric;
}

std::int64_t Trainer::steps_per_epoch() const {
  const auto images = static_cast<std::int64_t>(data_.indices.size());
  return (images + recipe_.batch - 1) / recipe_.batch;
}

bool Trainer::is_done() const {
  return epoch_ >= recipe_.epochs || stops_early_;
}

double Trainer::rate() const {
  return rate_at(recipe_.schedule, recipe_.optimizer.rate,
                 {.step = epoch_ * steps_per_epoch() + sums_.batches,
                  .steps_per_epoch = steps_per_epoch(),
                  .epochs = recipe_.epochs},
                 plateau_);
}

TrainResult Trainer::run() {
  const InterruptGuard guard;
  const double start = now() - seconds_;
  const std::int64_t last = options_.stop_after > 0
                                ? std::min(recipe_.epochs, epoch_ + options_.stop_after)
                                : recipe_.epochs;
  bool is_interrupted = false;
  while (!is_done() && epoch_ < last && !is_interrupted) {
    is_interrupted = !train_epoch();
    seconds_ = now() - start;
    if (is_interrupted) {
      save();
      break;
    }
    finish_epoch();
    seconds_ = now() - start;
    const bool is_last = is_done() || epoch_ == last;
    if (is_last || (options_.checkpoint_every > 0 && epoch_ % options_.checkpoint_every == 0))
      save();
    is_interrupted = interrupt_requested() && !is_done();
    if (is_interrupted) save();
  }
  TrainResult result{.is_complete = is_done(),
                     .stopped_by = is_interrupted ? interrupt_signal() : 0,
                     .epochs = epoch_,
                     .steps = session_.steps(),
                     .seconds = seconds_,
                     .weights_hash = weights_hash(session_.snapshot()),
                     .best = best_,
                     .validation = {},
                     .test = {},
                     .unaveraged_test = {},
                     .peak_value_bytes = session_.peak_bytes()};
  if (result.is_complete) finish(result);
  return result;
}

bool Trainer::train_epoch() {
  const double start = now() - epoch_seconds_;
  std::vector<std::int32_t> order = epoch_order(static_cast<std::int32_t>(data_.indices.size()),
                                                recipe_.seed, static_cast<std::uint32_t>(epoch_));
  for (std::int32_t& place : order) place = data_.indices[static_cast<std::size_t>(place)];
  Batcher batcher(data_.train, input_of(recipe_.network));
  Progress progress(fmt::format("epoch {}/{}", epoch_ + 1, recipe_.epochs),
                    static_cast<std::int64_t>(order.size()), {.style = options_.progress});
  const auto batch = static_cast<std::size_t>(recipe_.batch);
  for (std::size_t begin = static_cast<std::size_t>(sums_.batches) * batch; begin < order.size();
       begin += batch) {
    if (interrupt_requested()) {
      epoch_seconds_ = now() - start;
      return false;
    }
    train_batch(batcher, std::span(order).subspan(begin, std::min(batch, order.size() - begin)));
    const auto seen = static_cast<double>(sums_.images);
    const std::array values = {ProgressValue{"loss", sums_.loss / seen},
                               ProgressValue{"top1", static_cast<double>(sums_.correct) / seen}};
    progress.update(sums_.images, values);
  }
  epoch_seconds_ = now() - start;
  return true;
}

void Trainer::train_batch(Batcher& batcher, std::span<const std::int32_t> indices) {
  batcher.load(indices, recipe_.augment, {recipe_.seed, static_cast<std::uint32_t>(epoch_)});
  const bool is_probed = options_.has_layer_statistics && sums_.batches + 1 == steps_per_epoch();
  Probe probe(epoch_ + 1, session_.steps() + 1, events_);
  if (is_probed) session_.rounder().set_observer(&probe);
  last_rate_ = rate();
  const StepResult step = session_.step(batcher, last_rate_);
  session_.rounder().set_observer(nullptr);
  if (is_probed) {
    folder_.add_layers(probe.layers());
    folder_.add_histograms(probe.histograms());
  }
  ++sums_.batches;
  sums_.images += static_cast<std::int64_t>(indices.size());
  sums_.correct += step.correct;
  sums_.loss += step.loss_sum;
  average(false);
  if (events_ == nullptr) return;
  events_->scalar("batch/loss", session_.steps(),
                  step.loss_sum / static_cast<double>(indices.size()));
  events_->scalar("batch/learning_rate", session_.steps(), last_rate_);
  if (recipe_.policy.loss_scale.is_dynamic)
    events_->scalar("batch/loss_scale", session_.steps(), session_.loss_scale().scale);
}

// Adds the masters to the average, every so many steps or at the end of an epoch.
void Trainer::average(bool is_end_of_epoch) {
  if (!recipe_.averaging.is_on() || epoch_ + 1 < recipe_.averaging.start) return;
  const std::int64_t every = recipe_.averaging.every;
  const bool is_due =
      every == 0 ? is_end_of_epoch : !is_end_of_epoch && session_.steps() % every == 0;
  if (is_due) averager_.add(session_.optimizer().masters());
}

Evaluation Trainer::evaluate_on(const Model& model, const Dataset& data) const {
  return evaluate(model, data, {.policy = &recipe_.policy, .progress = ProgressStyle::silent});
}

void Trainer::finish_epoch() {
  session_.check_parameters();
  average(true);
  ++epoch_;
  const auto images = static_cast<double>(sums_.images);
  EpochRow row{.epoch = epoch_,
               .step = session_.steps(),
               .learning_rate = last_rate_,
               .train_loss = sums_.loss / images,
               .train_top1 = {},
               .val_loss = {},
               .val_top1 = {},
               .test_loss = {},
               .test_top1 = {},
               .seconds = epoch_seconds_,
               .images_per_second = images / std::max(epoch_seconds_, 1e-9)};
  const bool has_classes = !data_.train.has_targets();
  if (has_classes) row.train_top1 = static_cast<double>(sums_.correct) / images;

  const Model model = session_.snapshot();
  if (data_.validation) {
    const Evaluation validation = evaluate_on(model, *data_.validation);
    row.val_loss = validation.loss;
    if (validation.classes) row.val_top1 = validation.classes->top1();
    best_.metric = has_classes ? Metric::val_top1 : Metric::val_loss;
    const bool is_best = best_.update(has_classes ? *row.val_top1 : *row.val_loss, epoch_);
    if (is_best && !recipe_.averaging.is_on()) {  // of an averaging run the average is the model
      write_model(folder_.best_path(), model, origin_of(recipe_, epoch_));
    }
  } else if (data_.test) {
    const Evaluation test = evaluate_on(model, *data_.test);
    row.test_loss = test.loss;
    if (test.classes) row.test_top1 = test.classes->top1();
  }

  if (const auto* plateau = std::get_if<PlateauRate>(&recipe_.schedule.rate)) {
    update(*plateau, plateau_, metric_of(row, plateau->metric), epoch_);
  }
  if (recipe_.early_stopping.patience > 0) {
    stops_early_ = update(recipe_.early_stopping, early_,
                          metric_of(row, recipe_.early_stopping.metric), epoch_);
  }
  folder_.add_epoch(row);
  report_epoch(row, recipe_.epochs, events_, options_.progress);
  sums_ = {};
  epoch_seconds_ = 0;
}

}  // namespace nibble
