// SPDX-License-Identifier: Apache-2.0
// Samples that wait for one of Server's lanes, and which of them the next batch takes: in the order
// in which they came, but where the plan says so those that have waited so long that a slow batch
// would end too late let all others go first. It reads no clock and takes no lock.
#pragma once

#include <query_sample.h>
#include <cstddef>
#include <span>
#include <vector>

#include "loadgen/harness/batch_plan.h"
#include "loadgen/load_clock.h"

namespace nibble::inline loadgen {

struct WaitedBatch {
  std::vector<mlperf::QuerySample> samples;
  std::vector<LoadClock::time_point> issued;  // when each of them came
};

class WaitingSamples {
 public:
  explicit WaitingSamples(const BatchPlan& plan) : plan_(plan) {}

  void add(std::span<const mlperf::QuerySample> query, LoadClock::time_point now);
  void flush() { is_flushed_ = true; }  // none comes soon: none needs to wait for others

  std::size_t size() const { return in_time_.size() + late_.size(); }
  bool is_empty() const { return size() == 0; }

  // Whether a lane that is free is to begin a batch: its size is reached, or its time is over.
  bool is_ready(LoadClock::time_point now) const;
  // That batch, which holds until the next one.
  const WaitedBatch& take(LoadClock::time_point now);

 private:
  // A list whose front is taken.
  struct Line {
    std::size_t size() const { return list.issued.size() - first; }
    LoadClock::time_point first_issued() const { return list.issued[first]; }
    void move_front(std::size_t count, WaitedBatch& to);

    WaitedBatch list;
    std::size_t first = 0;  // of those that still wait
  };

  void set_late_aside(LoadClock::time_point now);
  std::size_t samples_of_next() const;

  const BatchPlan& plan_;
  Line in_time_;
  Line late_;
  WaitedBatch batch_;
  bool is_flushed_ = false;
};

}  // namespace nibble::inline loadgen
