// SPDX-License-Identifier: Apache-2.0
// What a run says about itself: in model files, on the terminal, to its listeners.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/data/dataset.h"
#include "nibble/epoch_loop/run_settings.h"
#include "nibble/epoch_loop/train_options.h"
#include "nibble/graph/model_file.h"
#include "nibble/run_folder/events.h"
#include "nibble/run_folder/progress.h"
#include "run_folder/run_rows.h"

namespace nibble::inline epoch_loop {

// Of a model file; `more` is what the learner adds.
Origin origin_of(const RunSettings& settings, const Origin& more, std::int64_t epoch);

// A line for people and scalars for listeners (which may be null).
void report_epoch(const EpochRow& row, std::int64_t epochs, EventSink* events, ProgressStyle style);

// summary.json
std::string summary_json(const TrainResult& result, const RunSettings& settings,
                         const Dataset& names_from);

}  // namespace nibble::inline epoch_loop
