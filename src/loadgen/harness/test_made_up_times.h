// SPDX-License-Identifier: Apache-2.0
// Plans for engines whose times are made up: no clock, no luck.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "inference/harness_test_support.h"
#include "loadgen/harness/batch_plan.h"
#include "nibble/core/error.h"

namespace nibble::inline loadgen {

// A batch of n takes a + n·b seconds, with several lanes c times as long.
struct MadeUpTimes {
  double a = 0;
  double b = 0;
  double c = 1;
  std::int64_t most_memory = std::int64_t{1} << 40;  // samples of a batch, times lanes
  std::vector<std::size_t> asked = {};               // how many samples, each time
  double spent = 0;

  double seconds_of(std::size_t samples, int lanes) const {
    return (a + static_cast<double>(samples) * b) * (lanes > 1 ? c : 1);
  }

  BatchTiming time(const TimingRequest& request) {
    asked.push_back(request.samples);
    const double seconds = seconds_of(request.samples, request.lanes);
    const double measured = std::chrono::duration<double>(request.time).count();
    const double rounds = std::max<double>(kTimedRounds, std::ceil(measured / seconds));
    const BatchTiming found{
        .samples = request.samples,
        .samples_per_second = static_cast<double>(request.samples) * request.lanes / seconds,
        .seconds = seconds,
        .peak = static_cast<double>(request.samples) * request.lanes / seconds,
        .spent = (kUntimedRounds + rounds) * seconds};
    spent += found.spent;
    return found;
  }

  BatchPlan plan(const PlanRequest& request) {
    const auto make_engine = [&](const EngineOptions& options) {
      if (options.max_batch * options.lanes > most_memory)
        throw Error("test", "memory", "little", "more", ErrorKind::memory);
      return std::make_unique<AnswerEngine>(channel_sums(false),
                                            EngineOptions{.max_batch = 1, .threads = 1});
    };
    const auto timed = [&](const Engine&, const TimingRequest& each) { return time(each); };
    return plan_batches(request, make_engine, timed).plan;
  }
};

}  // namespace nibble::inline loadgen
