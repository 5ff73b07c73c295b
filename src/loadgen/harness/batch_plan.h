// SPDX-License-Identifier: Apache-2.0
// How large batches are, how long samples may wait for others and how threads share the work, found
// by a short measurement.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "loadgen/harness/batch_timing.h"
#include "loadgen/scenario.h"
#include "nibble/inference/answer_engine.h"

namespace nibble::inline loadgen {

inline constexpr double kServerShare = 0.8;  // of the measured speed: Server's load, if none is set

struct BatchPlan {
  std::size_t most_samples = 1;
  std::chrono::nanoseconds longest_wait{0};
  // Of Server: a sample that has waited longer would be late in a slow batch, and lets others go
  // first; 0: the oldest is always the first.
  std::chrono::nanoseconds in_time_for{0};
  int lanes = 1;    // batches at a time
  int threads = 1;  // of each
  // Of Offline: in LoadGen's own thread, one after the other, without a hand-over. On a CPU, whose
  // threads are all on one batch.
  bool runs_in_place = false;
  // What Server's batches may have, ascending; empty: any number. A GPU records each size once.
  std::vector<std::size_t> sizes = {};
  // As measured with batches of most_samples.
  double samples_per_second = 0;
  double seconds = 0;  // of one batch
};

struct PlanRequest {
  Scenario scenario = Scenario::offline;
  int threads = 1;
  bool is_gpu = false;
  BufferPlace start_from = BufferPlace::host;  // where samples lie
  std::size_t batch = 0;                       // the largest; 0: to be found
  std::size_t samples_per_query = 1;
  double target_qps = 0;                      // of Server; 0: kServerShare of what is measured
  int devices = 1;                            // that share Server's load, all as fast as this one
  std::chrono::nanoseconds latency_bound{0};  // of Server
};

using MakeEngine = std::function<std::unique_ptr<AnswerEngine>(const EngineOptions&)>;

struct PlannedEngine {
  BatchPlan plan = {};
  std::shared_ptr<const AnswerEngine> engine = {};  // warm
};

// Takes a few seconds at most, unless single batches take longer. Throws Interrupted after a
// signal.
PlannedEngine plan_batches(const PlanRequest& request, const MakeEngine& make_engine,
                           const TimeBatches& time = time_batches);

}  // namespace nibble::inline loadgen
