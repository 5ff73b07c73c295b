// SPDX-License-Identifier: Apache-2.0
// What a run says about itself: in model files, on the terminal, to its listeners.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/graph/model_file.h"
#include "nibble/run/events.h"
#include "nibble/run/progress.h"
#include "nibble/run/run_rows.h"
#include "nibble/train/train.h"

namespace nibble {

Origin origin_of(const Recipe& recipe, std::int64_t epoch);

// A line for people and scalars for listeners (which may be null).
void report_epoch(const EpochRow& row, std::int64_t epochs, EventSink* events, ProgressStyle style);

// summary.json
std::string summary_json(const TrainResult& result, const Dataset& names_from);

}  // namespace nibble
