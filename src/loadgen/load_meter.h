// SPDX-License-Identifier: Apache-2.0
// What happened in a run beside LoadGen's own figures: batches over time and how long samples took.
// Memory grows by a few bytes a tenth of a second, whatever the load.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <vector>

namespace nibble::inline loadgen {

using LoadClock = std::chrono::steady_clock;

struct BatchRecord {
  LoadClock::time_point issued;  // the sample that waited longest
  LoadClock::time_point begun;   // given to the engine
  LoadClock::time_point ended;
  std::size_t samples = 0;
  std::size_t waiting = 0;  // samples that were left waiting when it began
};

class LoadMeter {
 public:
  LoadMeter();
  // Time begins with the first batch.
  void add(const BatchRecord& batch);

  // slices.csv: what began in a tenth of a second; batches.csv: how many batches had a size;
  // latencies.csv: how many samples took so long at most, 8 buckets a doubling.
  void write(const std::filesystem::path& folder, int lanes) const;

 private:
  struct Slice {
    std::int64_t batches = 0;
    std::int64_t samples = 0;
    std::int64_t most_waiting = 0;
    std::int64_t busy_ns = 0;
  };

  mutable std::mutex mutex_;
  LoadClock::time_point start_;
  std::vector<Slice> slices_;
  std::vector<std::int64_t> sizes_;      // batches, by samples
  std::vector<std::int64_t> latencies_;  // samples, by bucket
};

}  // namespace nibble::inline loadgen
