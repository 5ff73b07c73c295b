// SPDX-License-Identifier: Apache-2.0
// A training run from its settings to its summary.
#include "epoch_loop/run_training.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "epoch_loop/trainer.h"
#include "nibble/core/error.h"
#include "nibble/run_folder/interrupt.h"
#include "run_folder/provenance.h"

namespace nibble::inline epoch_loop {
namespace {

void check(const RunSettings& settings) {
  if (!is_loss(settings.network.nodes.back().op)) {
    throw Error("train", "last layer of " + settings.network.name,
                std::string(name_of(settings.network.nodes.back().op)), "a loss");
  }
  if (settings.early_stopping.patience > 0 && settings.validation == 0) {
    throw Error("train", "early stopping", "no validation split",
                "--val, so that nothing is chosen by the test set");
  }
}

// What rank 0 found in the folder, at every rank.
bool is_resumed(const RunFolder* folder, Communicator& ranks) {
  std::int64_t is_it = folder != nullptr && folder->is_resumed() ? 1 : 0;
  ranks.max({&is_it, 1});
  return is_it != 0;
}

TrainResult run_in(RunFolder* folder, const RunSettings& settings, const TrainingData& data,
                   const TrainOptions& options, Learner& learner) {
  Trainer trainer(settings, data, options, learner, folder);
  const bool goes_on = is_resumed(folder, ranks_of(options));
  if (goes_on) trainer.resume();
  std::unique_ptr<EventSink> events;
  if (folder != nullptr && options.make_events) {
    events =
        options.make_events(*folder, goes_on ? std::optional(learner.steps() + 1) : std::nullopt);
    trainer.set_events(events.get());
  }
  if (folder != nullptr) folder->write_settings(settings_json(this_run(), learner.settings_json()));
  return trainer.run();
}

}  // namespace

std::int64_t usual_average_start(std::int64_t epochs) {
  return epochs >= 4 ? epochs - epochs / 4 + 1 : 0;
}

std::int64_t average_start_within(std::int64_t told, std::int64_t epochs) {
  return told <= epochs ? told : usual_average_start(epochs);
}

void check_average_start(std::int64_t first_epoch, std::int64_t epochs) {
  if (first_epoch <= epochs) return;
  throw Error("train", "epoch from which weights are averaged", std::to_string(first_epoch),
              "at most " + std::to_string(epochs) + ", the last one, or 0: no average");
}

TrainResult run_training(const RunSettings& settings, const TrainOptions& options,
                         const MakeLearner& make_learner) {
  check(settings);
  const TrainingData data = load_training_data(settings);
  const RunSettings completed = complete(settings, data);
  const InterruptGuard guard;  // from here on a Ctrl-C leaves a checkpoint
  const std::unique_ptr<Learner> learner = make_learner(completed, data);  // refuses, no folder yet
  std::optional<RunFolder> folder;
  if (ranks_of(options).rank() == 0) folder.emplace(options.folder, options.mode);
  try {
    return run_in(folder ? &*folder : nullptr, completed, data, options, *learner);
  } catch (const Error& error) {
    if (!folder || !folder->keeps_old_run()) throw;
    throw Error(fmt::format("{}; the run that {} held is still there", error.what(),
                            options.folder.string()),
                error.kind());
  }
}

}  // namespace nibble::inline epoch_loop
