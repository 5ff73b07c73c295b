// SPDX-License-Identifier: Apache-2.0
// How quick a device that pretends is, and how long it lasts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backend/pretend/pretend_backend.h"

namespace nibble::inline backend {

using PretendClock = std::chrono::steady_clock;

// Others may use the processor while it lasts, but for the last moments.
void wait_until(PretendClock::time_point end);

class PretendPace {
 public:
  explicit PretendPace(const PretendOptions& options) : options_(options) {}

  std::chrono::nanoseconds copy_time(std::size_t bytes, WireKind wire = WireKind::pinned) const;

  // Does an operation, which takes as much longer as the options say. Both throw where the device
  // is gone.
  template <class Work>
  void operate(const Work& work) {
    count_operation();
    const auto begin = PretendClock::now();
    work();
    slow_down(begin);
  }

  void count_operation();

 private:
  void slow_down(PretendClock::time_point begin) const;

  PretendOptions options_;
  std::int64_t operations_ = 0;
};

// The way of copies in one direction, one at a time. As with a real device no thread makes them:
// whoever needs a copy waits until it would have ended.
class PretendLane {
 public:
  struct Copy {
    PretendClock::time_point begin;
    PretendClock::time_point end;
  };
  Copy send(std::chrono::nanoseconds time);

 private:
  std::mutex mutex_;
  PretendClock::time_point free_at_;
};

}  // namespace nibble::inline backend
