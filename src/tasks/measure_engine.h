// SPDX-License-Identifier: Apache-2.0
// How fast an engine runs, and how near to the machine's limit.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/engine/engine.h"

namespace nibble::inline tasks {

struct MeasureOptions {
  std::int64_t batch = 1;
  double seconds = 3;          // to measure for, at least 5 runs
  std::string device = "cpu";  // the engine's own, and its threads: both are only told
  int threads = 1;
  int lanes = 1;  // batches on their way at a time where throughput is measured
};

// Runs made-up examples, the same in every run, whose answers must be the same in every run. JSON:
// images_per_second, median_ms, p99_ms, throughput (of several batches on their way), peak_gops,
// answers (their hash), steps …
std::string measure_engine(const Engine& engine, const MeasureOptions& options);

}  // namespace nibble::inline tasks
