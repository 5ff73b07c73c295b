// SPDX-License-Identifier: Apache-2.0
// A training run from its settings to its summary.
#include "nibble/loop/run_training.h"

#include <optional>
#include <string>

#include "loop/trainer.h"
#include "nibble/core/error.h"
#include "nibble/run/interrupt.h"
#include "nibble/run/provenance.h"

namespace nibble {
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

}  // namespace

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
  Trainer trainer(completed, data, options, *learner, folder ? &*folder : nullptr);
  const bool is_resumed = options.mode == RunFolderMode::resume;
  if (is_resumed) trainer.resume();
  std::unique_ptr<EventSink> events;
  if (folder && options.make_events) {
    events = options.make_events(*folder,
                                 is_resumed ? std::optional(learner->steps() + 1) : std::nullopt);
    trainer.set_events(events.get());
  }
  if (folder) folder->write_settings(settings_json(this_run(), learner->settings_json()));
  return trainer.run();
}

}  // namespace nibble
