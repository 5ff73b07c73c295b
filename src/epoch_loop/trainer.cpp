// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: batches, evaluation, rows and events.
#include "epoch_loop/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "cluster/local.h"
#include "data/batch_order.h"
#include "epoch_loop/run_account.h"
#include "nibble/run_folder/best.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline epoch_loop {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Communicator& ranks_of(const TrainOptions& options) {
  return options.communicator != nullptr ? *options.communicator : local_communicator();
}

Trainer::Trainer(const RunSettings& settings, const TrainingData& data, const TrainOptions& options,
                 Learner& learner, RunFolder* folder)
    : settings_(settings),
      data_(data),
      options_(options),
      learner_(learner),
      ranks_(ranks_of(options)),
      folder_(folder) {
  early_.best.metric = settings.early_stopping.metric;
}

std::int64_t Trainer::steps_per_epoch() const {
  const auto images = static_cast<std::int64_t>(data_.indices.size());
  return (images + settings_.batch - 1) / settings_.batch;
}

bool Trainer::is_done() const {
  return epoch_ >= settings_.epochs || stops_early_;
}

// A signal that any rank got, so that all stop after the same step.
int Trainer::agreed_interrupt() {
  std::int64_t signal = interrupt_signal();
  ranks_.max({&signal, 1});
  return static_cast<int>(signal);
}

TrainResult Trainer::run() {
  const InterruptGuard guard;
  const double start = now() - seconds_;
  const std::int64_t last = options_.stop_after > 0
                                ? std::min(settings_.epochs, epoch_ + options_.stop_after)
                                : settings_.epochs;
  while (!is_done() && epoch_ < last && stopped_by_ == 0) {
    train_epoch();
    seconds_ = now() - start;
    if (stopped_by_ != 0) {
      save();
      break;
    }
    finish_epoch();
    seconds_ = now() - start;
    const bool is_last = is_done() || epoch_ == last;
    if (is_last || (options_.checkpoint_every > 0 && epoch_ % options_.checkpoint_every == 0))
      save();
    if (!is_done()) stopped_by_ = agreed_interrupt();
    if (stopped_by_ != 0) save();
  }
  writer_.wait();
  TrainResult result{.is_complete = is_done(),
                     .stopped_by = stopped_by_,
                     .epochs = epoch_,
                     .steps = learner_.steps(),
                     .seconds = seconds_,
                     .weights_hash = weights_hash(learner_.snapshot()),
                     .best = best_,
                     .validation = {},
                     .test = {},
                     .unaveraged_test = {},
                     .peak_value_bytes = learner_.peak_bytes()};
  if (result.is_complete) finish(result);
  return result;
}

void Trainer::train_epoch() {
  const double start = now() - epoch_seconds_;
  std::vector<std::int32_t> order = epoch_order(static_cast<std::int32_t>(data_.indices.size()),
                                                settings_.seed, static_cast<std::uint32_t>(epoch_));
  for (std::int32_t& place : order) place = data_.indices[static_cast<std::size_t>(place)];
  Progress progress(fmt::format("epoch {}/{}", epoch_ + 1, settings_.epochs),
                    static_cast<std::int64_t>(order.size()),
                    {.style = is_first() ? options_.progress : ProgressStyle::silent});
  const auto batch = static_cast<std::size_t>(settings_.batch);
  images_told_ = sums_.images;
  for (std::size_t begin = static_cast<std::size_t>(sums_.batches) * batch; begin < order.size();
       begin += batch) {
    stopped_by_ = agreed_interrupt();
    if (stopped_by_ != 0) break;
    train_batch(std::span(order).subspan(begin, std::min(batch, order.size() - begin)));
    const auto seen = static_cast<double>(std::max<std::int64_t>(images_told_, 1));
    const std::array values = {ProgressValue{"loss", sums_.loss / seen},
                               ProgressValue{"top1", static_cast<double>(sums_.correct) / seen}};
    progress.update(sums_.images, values);
  }
  add(learner_.rest());
  epoch_seconds_ = now() - start;
}

void Trainer::add(const StepResult& result) {
  sums_.correct += result.correct;
  sums_.loss += result.loss_sum;
  images_told_ += result.images;
  if (events_ == nullptr || result.steps == 0) return;
  events_->scalar("batch/loss", result.step > 0 ? result.step : learner_.steps(),
                  result.loss_sum / static_cast<double>(result.images));
}

// One that is like those after it, and shows nothing of its layers.
bool Trainer::is_traced_step() {
  constexpr std::int64_t kSettled = 20;
  ++taken_;
  if (!is_first() || options_.profile.empty()) return false;
  return taken_ == std::clamp<std::int64_t>(steps_per_epoch() - 1, 1, kSettled);
}

void Trainer::write_trace(const StepTrace& trace) const {
  const std::string about =
      fmt::format("step {} of {}, batch {}", learner_.steps(), settings_.name, settings_.batch);
  trace.write(options_.profile, about);
  if (options_.progress == ProgressStyle::silent) return;
  std::set<std::string> tracks;
  for (const TraceSpan& each : trace.spans()) tracks.insert(each.track);
  std::string line = fmt::format("profile {}: {}", options_.profile.string(), about);
  for (const std::string& track : tracks) {
    line += fmt::format("; {} {:.0f} µs, busy {:.0f}", track,
                        static_cast<double>(trace.length_of(track)) / 1000.0,
                        static_cast<double>(trace.busy_of(track)) / 1000.0);
  }
  fmt::print(stderr, "{}\n", line);
}

void Trainer::train_batch(std::span<const std::int32_t> indices) {
  const bool is_observed =
      is_first() && options_.has_layer_statistics && sums_.batches + 1 == steps_per_epoch();
  Observation observation{.events = events_};
  std::optional<StepTrace> trace;
  if (is_traced_step()) trace.emplace();
  StepResult step = learner_.step({.indices = indices,
                                   .epoch = epoch_,
                                   .position = {.step = epoch_ * steps_per_epoch() + sums_.batches,
                                                .steps_per_epoch = steps_per_epoch(),
                                                .epochs = settings_.epochs},
                                   .observation = is_observed ? &observation : nullptr,
                                   .trace = trace ? &*trace : nullptr});
  if (trace) write_trace(*trace);
  if (is_observed) {
    folder_->add_layers(observation.layers);
    folder_->add_integers(observation.integers);
    folder_->add_histograms(observation.histograms);
  }
  ++sums_.batches;
  sums_.images += static_cast<std::int64_t>(indices.size());
  if (step.steps > 0 && step.images == 0) step.images = static_cast<std::int64_t>(indices.size());
  add(step);
  if (events_ == nullptr) return;
  events_->scalar("batch/learning_rate", learner_.steps(), learner_.rate());
  learner_.tell(*events_);
}

EpochRow Trainer::measured_row(const Model& model) const {
  const auto images = static_cast<double>(sums_.images);
  EpochRow row{.epoch = epoch_,
               .step = learner_.steps(),
               .learning_rate = learner_.rate(),
               .train_loss = sums_.loss / images,
               .seconds = epoch_seconds_,
               .images_per_second = images / std::max(epoch_seconds_, 1e-9)};
  if (!data_.train.has_targets()) row.train_top1 = static_cast<double>(sums_.correct) / images;
  if (data_.validation) {
    const Evaluation validation = learner_.evaluate(model, *data_.validation);
    row.val_loss = validation.loss;
    if (validation.classes) row.val_top1 = validation.classes->top1();
  } else if (data_.test) {
    const Evaluation test = learner_.evaluate(model, *data_.test);
    row.test_loss = test.loss;
    if (test.classes) row.test_top1 = test.classes->top1();
  }
  return row;
}

void Trainer::keep_best(const Model& model, const EpochRow& row) {
  const bool has_classes = row.val_top1.has_value();
  best_.metric = has_classes ? Metric::val_top1 : Metric::val_loss;
  const bool is_best = best_.update(has_classes ? *row.val_top1 : *row.val_loss, epoch_);
  if (is_best && is_first() && !learner_.is_averaging())
    write_model(folder_->best_path(), model, origin());
}

void Trainer::finish_epoch() {
  learner_.end_epoch(epoch_);
  ++epoch_;
  const Model model = learner_.snapshot();
  EpochRow row = measured_row(model);
  static_assert(std::is_trivially_copyable_v<EpochRow>);
  ranks_.broadcast(std::as_writable_bytes(std::span(&row, 1)), 0);

  if (data_.validation) keep_best(model, row);
  learner_.see(row);
  if (settings_.early_stopping.patience > 0) {
    stops_early_ = update(settings_.early_stopping, early_,
                          metric_of(row, settings_.early_stopping.metric), epoch_);
  }
  if (is_first()) {
    folder_->add_epoch(row);
    report_epoch(row, settings_.epochs, events_, options_.progress);
  }
  sums_ = {};
  epoch_seconds_ = 0;
}

}  // namespace nibble::inline epoch_loop
