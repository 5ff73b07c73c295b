// SPDX-License-Identifier: Apache-2.0
// Tries batches of several sizes.
#include "loadgen/harness/batch_plan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline loadgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLargestOffline = 512;
constexpr std::size_t kLargestServer = 64;
constexpr std::size_t kFewTogether = 4;      // of Server
constexpr std::size_t kLargestOfGpu = 1024;  // Offline, before larger ones are tried
constexpr std::size_t kLargestGrown = 8192;
constexpr std::size_t kLargestServerOfGpu = 256;
constexpr std::size_t kSmallestOfGpu = 16;  // Offline
constexpr int kLanesOfGpu = 4;
constexpr std::chrono::nanoseconds kMeasured = 60ms;  // a size
constexpr double kMostSeconds = 3;                    // all sizes
constexpr double kWorthTwiceAsLarge = 1.01;
// Of Server on a CPU, whose samples wait for batches that run: larger ones lengthen the tail.
constexpr double kWorthLonger = 1.03;
// Of Server: threads on one batch all wait for the one whose processor LoadGen's thread, or
// somebody else, takes. Short measurements differ by a tenth or two where others share the machine.
constexpr double kWorthTogether = 1.2;
constexpr double kMostLoad = 0.9;       // of what a size can do, so that queues stay short
constexpr int kBatchesWithinBound = 4;  // one that runs, one that waits, and room for chance
// A GPU's times vary little, and lanes that end in turn keep samples waiting for a part of a batch.
constexpr double kBatchesWithinBoundOfGpu = 1.75;

// What a batch takes at most where a CPU is slow for a while: cores that are shared were seen at
// two thirds of their speed for half a second.
constexpr double kSlowBatch = 2;

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

struct Sizes {
  std::size_t first = 1;
  std::size_t last = 1;
};

Sizes sizes_to_try(const PlanRequest& request) {
  const bool is_gpu = request.is_gpu;
  switch (request.scenario) {
    case Scenario::offline:
      if (request.batch != 0) return {request.batch, request.batch};
      return is_gpu ? Sizes{kSmallestOfGpu, kLargestOfGpu} : Sizes{1, kLargestOffline};
    case Scenario::server:
      if (request.batch != 0) return {1, request.batch};
      return {1, is_gpu ? kLargestServerOfGpu : kLargestServer};
    case Scenario::single_stream:
    case Scenario::multi_stream:
      break;
  }
  const std::size_t all = request.batch != 0 ? request.batch : request.samples_per_query;
  return {all, all};
}

bool is_late(const PlanRequest& request, const BatchTiming& found) {
  return request.latency_bound.count() > 0 &&
         found.seconds * (request.is_gpu ? kBatchesWithinBoundOfGpu : kBatchesWithinBound) >
             in_seconds(request.latency_bound);
}

// Twice the size takes twice the time, or less.
double seconds_of_next(const BatchTiming& last) {
  return std::max(in_seconds(kMeasured), (kUntimedRounds + kTimedRounds) * 2 * last.seconds);
}

// Doubled, as long as batches are not too late and `seconds` suffice. The first one always.
std::vector<BatchTiming> time_sizes(const Engine& engine, const PlanRequest& request, int lanes,
                                    double seconds, const TimeBatches& time) {
  const auto [first, last] = sizes_to_try(request);
  std::vector<BatchTiming> sizes;
  for (std::size_t size = first; size <= last; size *= 2) {
    if (!sizes.empty() && seconds_of_next(sizes.back()) > seconds) break;
    const BatchTiming found = time(
        engine, {.samples = size, .lanes = lanes, .place = request.start_from, .time = kMeasured});
    if (!sizes.empty() && is_late(request, found)) break;
    sizes.push_back(found);
    seconds -= found.spent;
  }
  return sizes;
}

// The fastest; of those nearly as fast the smallest.
BatchTiming best_of(const PlanRequest& request, const std::vector<BatchTiming>& sizes) {
  const bool is_longer = request.scenario == Scenario::server && !request.is_gpu;
  const double most = std::ranges::max(sizes, {}, &BatchTiming::peak).peak;
  return *std::ranges::find_if(sizes, [&](const BatchTiming& each) {
    return each.peak * (is_longer ? kWorthLonger : kWorthTwiceAsLarge) >= most;
  });
}

// What waits for a CPU is handed over a few at a time, even where single samples are as fast: each
// hand-over costs what LoadGen's own thread needs.
std::size_t most_samples(const PlanRequest& request, const std::vector<BatchTiming>& sizes,
                         const BatchTiming& best) {
  if (request.batch != 0) return request.batch;
  if (request.scenario != Scenario::server || request.is_gpu) return best.samples;
  return std::max(best.samples, std::min(kFewTogether, sizes.back().samples));
}

// Where single samples are too slow for the load that is to come, as long as the smallest batch
// that is fast enough takes to come together.
std::chrono::nanoseconds wait_for(const PlanRequest& request,
                                  const std::vector<BatchTiming>& sizes) {
  const double load = request.target_qps > 0
                          ? request.target_qps / request.devices
                          : kServerShare * best_of(request, sizes).samples_per_second;
  const auto enough = std::ranges::find_if(
      sizes, [&](const BatchTiming& each) { return each.peak * kMostLoad >= load; });
  if (enough == sizes.begin()) return 0ns;
  const std::size_t samples = enough == sizes.end() ? sizes.back().samples : enough->samples;
  const std::chrono::duration<double> together(static_cast<double>(samples) /
                                               (load * request.devices));
  return std::min(std::chrono::duration_cast<std::chrono::nanoseconds>(together),
                  request.latency_bound / kBatchesWithinBound);
}

// Of Server on a CPU: as long as a slow batch still ends within the bound; 0 where it never does.
// Rather too short: in a queue that is too long every sample is taken at this very age, and all of
// them would be late. A GPU, which nobody else slows down, serves the oldest first whatever its
// age.
std::chrono::nanoseconds time_to_begin(const PlanRequest& request, const BatchTiming& timed,
                                       std::size_t samples) {
  if (request.scenario != Scenario::server || request.is_gpu) return 0ns;
  const double seconds =
      timed.seconds * static_cast<double>(samples) / static_cast<double>(timed.samples);
  const double left = in_seconds(request.latency_bound) - kSlowBatch * seconds;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::max(left, 0.0)));
}

// Threads together on a batch, or each on its own. A GPU has one engine for all of its choices.
std::vector<std::pair<int, int>> lanes_and_threads(const PlanRequest& request) {
  if (request.is_gpu && is_stream(request.scenario)) return {{1, 1}};
  if (request.is_gpu) return {{1, 1}, {2, 1}, {3, 1}, {kLanesOfGpu, 1}};
  if (request.threads == 1) return {{1, 1}};
  if (request.scenario == Scenario::offline) return {{1, request.threads}};
  if (request.scenario == Scenario::server) return {{request.threads, 1}, {1, request.threads}};
  return {{1, request.threads}, {1, 1}};
}

// Of one way to share the threads, beside that of another.
bool is_better(const PlanRequest& request, const BatchTiming& found, const BatchTiming& other) {
  const bool is_together = request.scenario == Scenario::server && !request.is_gpu;
  if (is_together && is_late(request, other) && !is_late(request, found)) return true;
  return found.peak > (is_together ? kWorthTogether : 1) * other.peak;
}

// An engine keeps memory for its largest batches, of which a GPU may have too little: so those
// larger than usual are tried one by one, where the last doubling was worth it.
void grow(PlannedEngine& best, const PlanRequest& request, const MakeEngine& make_engine,
          const TimeBatches& time) {
  BatchPlan& plan = best.plan;
  for (std::size_t size = 2 * kLargestOfGpu; size <= kLargestGrown && plan.most_samples == size / 2;
       size *= 2) {
    try {
      std::shared_ptr<const AnswerEngine> engine =
          make_engine({.max_batch = static_cast<std::int64_t>(size),
                       .threads = plan.threads,
                       .lanes = plan.lanes});
      const BatchTiming found = time(
          engine->engine(),
          {.samples = size, .lanes = plan.lanes, .place = request.start_from, .time = kMeasured});
      if (found.samples_per_second < kWorthTwiceAsLarge * plan.samples_per_second) return;
      plan.most_samples = size;
      plan.samples_per_second = found.samples_per_second;
      plan.seconds = found.seconds;
      best.engine = std::move(engine);
    } catch (const Error&) {
      return;  // there is not that much memory
    }
  }
}

// Four a doubling.
std::vector<std::size_t> recorded_sizes(std::size_t most) {
  std::vector<std::size_t> sizes;
  for (std::size_t step = 1, size = 1; size < most; size += step) {
    if (size == 8 * step) step *= 2;
    sizes.push_back(size);
  }
  sizes.push_back(most);
  return sizes;
}

}  // namespace

PlannedEngine plan_batches(const PlanRequest& request, const MakeEngine& make_engine,
                           const TimeBatches& time) {
  const bool is_server = request.scenario == Scenario::server;
  const bool is_offline = request.scenario == Scenario::offline;
  const auto choices = lanes_and_threads(request);
  const double seconds = kMostSeconds / static_cast<double>(choices.size());
  PlannedEngine best;
  std::optional<BatchTiming> fastest;
  std::shared_ptr<AnswerEngine> engine;
  for (const auto& [lanes, threads] : choices) {
    if (!engine || !request.is_gpu) {
      engine = make_engine({.max_batch = static_cast<std::int64_t>(sizes_to_try(request).last),
                            .threads = threads,
                            .lanes = request.is_gpu ? kLanesOfGpu : lanes});
    }
    const std::vector<BatchTiming> sizes =
        time_sizes(engine->engine(), request, lanes, seconds, time);
    const BatchTiming found = best_of(request, sizes);
    if (fastest && !is_better(request, found, *fastest)) continue;
    fastest = found;
    const std::size_t most = most_samples(request, sizes, found);
    best = {.plan = {.most_samples = most,
                     .longest_wait = is_server ? wait_for(request, sizes) : 0ns,
                     .in_time_for = time_to_begin(request, found, most),
                     .lanes = lanes,
                     .threads = threads,
                     .runs_in_place = !request.is_gpu && is_offline,
                     .samples_per_second = found.samples_per_second,
                     .seconds = found.seconds},
            .engine = engine};
  }
  if (request.is_gpu && is_offline && request.batch == 0) grow(best, request, make_engine, time);
  if (request.is_gpu && is_server) {
    best.plan.sizes = recorded_sizes(best.plan.most_samples);
    // Every lane sees every size before time is taken.
    for (const std::size_t size : best.plan.sizes) {
      (void)time(best.engine->engine(),
                 {.samples = size, .lanes = best.plan.lanes, .place = request.start_from});
    }
  }
  return best;
}

}  // namespace nibble::inline loadgen
