// SPDX-License-Identifier: Apache-2.0
// Where a training run leaves its files and who listens, and what it gives in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nibble/cluster/communicator.h"
#include "nibble/run_folder/best.h"
#include "nibble/run_folder/events.h"
#include "nibble/run_folder/metrics.h"
#include "nibble/run_folder/progress.h"
#include "nibble/run_folder/run_folder.h"

namespace nibble::inline epoch_loop {

struct TrainOptions {
  std::filesystem::path folder;
  RunFolderMode mode = RunFolderMode::fresh;
  ProgressStyle progress = ProgressStyle::automatic;
  std::int64_t checkpoint_every = 1;   // epochs; 0: only at the end and on Ctrl-C
  std::int64_t stop_after = 0;         // epochs of this call; 0: all that are left
  bool has_layer_statistics = true;    // layers.csv and histograms.csv, from one batch an epoch
  std::filesystem::path profile = {};  // where a trace of one step goes; empty: none
  // Who else listens, made once the folder is there; a run that goes on says from which step.
  std::function<std::unique_ptr<EventSink>(const RunFolder&,
                                           std::optional<std::int64_t> resumed_at)>
      make_events = {};
  // The processes that train together, each with these options; null: one alone. Rank 0 writes the
  // folder and speaks, and the others must be able to read checkpoint and best model there.
  Communicator* communicator = nullptr;
};

struct TrainResult {
  bool is_complete = false;  // false: stopped before the end, the checkpoint has it
  int stopped_by = 0;        // the signal that stopped it, SIGINT or SIGTERM
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  double seconds = 0;
  std::uint64_t weights_hash = 0;
  BestSoFar best;  // by validation
  std::optional<Evaluation> validation;
  std::optional<Evaluation> test;
  std::optional<Evaluation> unaveraged_test;  // the last weights, where the model is an average
  std::vector<NamedEvaluation> more = {};     // of the test split
  std::vector<std::string> warnings = {};     // of the model, a line each
  std::size_t peak_value_bytes = 0;           // of values, errors and partial gradients
};

}  // namespace nibble::inline epoch_loop
