// SPDX-License-Identifier: Apache-2.0
// What happened in a run beside LoadGen's own figures: batches over time and how long samples took.
// Memory grows by a few bytes a tenth of a second, whatever the load.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <span>
#include <vector>

#include "loadgen/load_clock.h"

namespace nibble::inline loadgen {

struct BatchRecord {
  std::span<const LoadClock::time_point> issued;  // when each sample came, or one time for all
  LoadClock::time_point begun;                    // given to the engine
  LoadClock::time_point ended;
  std::size_t samples = 0;
  std::size_t waiting = 0;  // samples that were left waiting when it began
};

// When the first batch of all began.
class LoadStart {
 public:
  LoadClock::duration time_until(LoadClock::time_point begun);

 private:
  static constexpr LoadClock::rep kNotYet = std::numeric_limits<LoadClock::rep>::min();
  std::atomic<LoadClock::rep> start_{kNotYet};
};

// Of batches that follow each other, in whichever thread: one at a time adds to it, so that nobody
// locks.
class LoadTally {
 public:
  static constexpr std::size_t kBuckets = 512;  // of latencies, 8 a doubling

  explicit LoadTally(LoadStart& start) : start_(start) {}
  void add(const BatchRecord& batch);

 private:
  friend class LoadMeter;

  struct Slice {               // a tenth of a second
    std::int64_t batches = 0;  // that began in it, and their samples
    std::int64_t samples = 0;
    std::int64_t most_waiting = 0;
    std::int64_t busy_ns = 0;  // of batches that ran in it
  };

  Slice& slice_at(std::size_t place);
  void merge(const LoadTally& other);

  LoadStart& start_;
  std::vector<Slice> slices_;
  std::vector<std::int64_t> sizes_;                    // batches, by samples
  std::array<std::int64_t, kBuckets> latencies_ = {};  // samples, by bucket
};

// When a device has at least one batch, from its hand-over to its answer. One thread at a time
// calls.
class DeviceTally {
 public:
  explicit DeviceTally(LoadStart& start) : start_(start) {}
  void begin(LoadClock::time_point now);  // a batch that comes
  void end(LoadClock::time_point now);    // one that goes

 private:
  friend class LoadMeter;

  LoadStart& start_;
  std::size_t batches_ = 0;
  LoadClock::time_point since_ = {};
  LoadClock::time_point last_end_ = {};
  std::vector<std::int64_t> busy_ns_;  // of each tenth of a second
};

class LoadMeter {
 public:
  // One more, which lives as long as the meter.
  LoadTally& make_tally() { return tallies_.emplace_back(start_); }
  DeviceTally& make_device() { return devices_.emplace_back(start_); }

  // Of all tallies, to which nobody adds any more. slices.csv: tenths of a second since the first
  // batch began, `busy` the batches that were on their way by the number of lanes, `device_busy`
  // the share of time in which a device had one at least, as a mean of devices; batches.csv: how
  // many batches had a size; latencies.csv: how many samples took so long at most, 8 buckets a
  // doubling.
  void write(const std::filesystem::path& folder, int lanes) const;

 private:
  LoadStart start_;
  std::deque<LoadTally> tallies_;
  std::deque<DeviceTally> devices_;
};

}  // namespace nibble::inline loadgen
