// SPDX-License-Identifier: Apache-2.0
// How long an engine takes for batches of a size.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "nibble/engine/engine.h"

namespace nibble::inline loadgen {

struct BatchTiming {
  std::size_t samples = 0;        // of a batch
  double samples_per_second = 0;  // in all of the time, whatever else the machine did in it
  double seconds = 0;             // the median of one batch, as many at a time as there are lanes
  double peak = 0;   // samples a second if each took that long: what sizes are compared by
  double spent = 0;  // seconds that it took to find out
};

struct TimingRequest {
  std::size_t samples = 1;
  int lanes = 1;  // each begins its next batch when its last has ended
  BufferPlace place = BufferPlace::host;
  std::chrono::nanoseconds time{0};  // to measure for; at least kTimedRounds are
};

inline constexpr int kUntimedRounds = 1;
inline constexpr int kTimedRounds = 2;

using TimeBatches = std::function<BatchTiming(const Engine&, const TimingRequest&)>;

// By the clock. Throws Interrupted after a signal.
BatchTiming time_batches(const Engine& engine, const TimingRequest& request);

}  // namespace nibble::inline loadgen
