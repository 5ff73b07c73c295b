// SPDX-License-Identifier: Apache-2.0
// Measures batches of several sizes.
#include "loadgen/harness/batch_plan.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nibble::inline loadgen {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kLargestOffline = 512;
constexpr std::size_t kLargestServer = 64;
constexpr std::size_t kLargestOfGpu = 1024;  // Offline
constexpr std::size_t kLargestServerOfGpu = 256;
constexpr std::size_t kSmallestOfGpu = 16;  // Offline
constexpr int kLanesOfGpu = 4;
constexpr auto kMeasured = 60ms;  // a size
constexpr double kWorthTwiceAsLarge = 1.01;
constexpr double kMostLoad = 0.9;       // of what a size can do, so that queues stay short
constexpr int kBatchesWithinBound = 4;  // one that runs, one that waits, and room for chance
// A GPU's times vary little, and lanes that end in turn keep samples waiting for a part of a batch.
constexpr double kBatchesWithinBoundOfGpu = 1.75;

struct Measured {
  std::size_t samples = 0;
  double samples_per_second = 0;
  double seconds = 0;
};

// As many batches at a time as there are lanes, each lane's next when its last has ended.
Measured measure(const Engine& engine, std::size_t samples, int lanes, BufferPlace place,
                 std::chrono::milliseconds time = kMeasured) {
  const ValueInfo& in = engine.input();
  const auto number =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(0, in.low, in.high) + in.zero);
  std::vector<std::byte> numbers(samples * in.bytes);
  for (std::size_t at = 0; at < numbers.size(); at += size_of(in.dtype))
    std::memcpy(&numbers[at], &number, size_of(in.dtype));
  const EngineBuffer input = engine.allocate(numbers.size(), place);
  input.write(numbers);
  const auto count = static_cast<std::size_t>(lanes);
  std::vector<EngineBuffer> outputs;
  for (std::size_t i = 0; i < count; ++i)
    outputs.push_back(engine.allocate(samples * engine.output().bytes, BufferPlace::host));
  std::vector<PendingRun> lane(count);
  const auto begin = [&](std::size_t i) {
    lane[i] = engine.submit(input.bytes(), static_cast<std::int64_t>(samples), outputs[i].bytes());
  };
  const auto run_all = [&] {
    for (std::size_t i = 0; i < count; ++i) begin(i);
    for (PendingRun& each : lane) each.get();
  };
  run_all();
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) begin(i);
  std::size_t ended = 0;
  while (Clock::now() < start + time || ended < 2 * count) {
    const std::size_t i = ended % count;
    lane[i].get();
    ++ended;
    begin(i);
  }
  for (PendingRun& each : lane) each.get();
  ended += count;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto batches = static_cast<double>(ended);
  return {.samples = samples,
          .samples_per_second = batches * static_cast<double>(samples) / seconds,
          .seconds = seconds * lanes / batches};
}

std::vector<Measured> measure_sizes(const Engine& engine, const PlanRequest& request, int lanes,
                                    std::size_t first, std::size_t last) {
  std::vector<Measured> sizes;
  for (std::size_t size = first; size <= last; size *= 2) {
    const Measured found = measure(engine, size, lanes, request.start_from);
    const bool is_late =
        request.latency_bound.count() > 0 &&
        found.seconds * (request.is_gpu ? kBatchesWithinBoundOfGpu : kBatchesWithinBound) >
            std::chrono::duration<double>(request.latency_bound).count();
    if (is_late && !sizes.empty()) break;
    sizes.push_back(found);
  }
  return sizes;
}

// The fastest; of those nearly as fast the smallest.
Measured best_of(const std::vector<Measured>& sizes) {
  double most = 0;
  for (const Measured& each : sizes) most = std::max(most, each.samples_per_second);
  return *std::ranges::find_if(sizes, [&](const Measured& each) {
    return each.samples_per_second * kWorthTwiceAsLarge >= most;
  });
}

// Where single samples are too slow for the load that is to come, as long as the smallest batch
// that is fast enough takes to come together.
std::chrono::nanoseconds wait_for(const PlanRequest& request, const std::vector<Measured>& sizes) {
  const auto enough = std::ranges::find_if(sizes, [&](const Measured& each) {
    return each.samples_per_second * kMostLoad >= request.target_qps;
  });
  if (enough == sizes.begin() || request.target_qps <= 0) return 0ns;
  const std::size_t samples = enough == sizes.end() ? sizes.back().samples : enough->samples;
  const std::chrono::duration<double> together(static_cast<double>(samples) / request.target_qps);
  return std::min(std::chrono::duration_cast<std::chrono::nanoseconds>(together),
                  request.latency_bound / kBatchesWithinBound);
}

// Threads together on a batch, or each on its own. A GPU has one engine for all of its choices.
std::vector<std::pair<int, int>> lanes_and_threads(const PlanRequest& request) {
  if (request.is_gpu && is_stream(request.scenario)) return {{1, 1}};
  if (request.is_gpu) return {{1, 1}, {2, 1}, {3, 1}, {kLanesOfGpu, 1}};
  if (request.threads == 1) return {{1, 1}};
  if (request.scenario == Scenario::offline) return {{1, request.threads}};
  if (request.scenario == Scenario::server) return {{1, request.threads}, {request.threads, 1}};
  return {{1, request.threads}, {1, 1}};
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

// Every lane sees every size before time is taken.
void record_sizes(const Engine& engine, const BatchPlan& plan, BufferPlace place) {
  for (const std::size_t size : plan.sizes) (void)measure(engine, size, plan.lanes, place, 0ms);
}

}  // namespace

PlannedEngine plan_batches(const PlanRequest& request, const MakeEngine& make_engine) {
  std::size_t first = is_stream(request.scenario) ? request.samples_per_query : 1;
  std::size_t last = first;
  if (request.scenario == Scenario::offline) {
    first = request.is_gpu ? kSmallestOfGpu : 1;
    last = request.is_gpu ? kLargestOfGpu : kLargestOffline;
  }
  if (request.scenario == Scenario::server)
    last = request.is_gpu ? kLargestServerOfGpu : kLargestServer;
  if (request.batch != 0) last = request.batch;
  if (request.batch != 0 && request.scenario != Scenario::server) first = request.batch;
  PlannedEngine best;
  std::shared_ptr<AnswerEngine> engine;
  for (const auto& [lanes, threads] : lanes_and_threads(request)) {
    if (!engine || !request.is_gpu) {
      engine = make_engine({.max_batch = static_cast<std::int64_t>(last),
                            .threads = threads,
                            .lanes = request.is_gpu ? kLanesOfGpu : lanes});
    }
    const std::vector<Measured> sizes =
        measure_sizes(engine->engine(), request, lanes, first, last);
    const Measured found = best_of(sizes);
    if (found.samples_per_second <= best.plan.samples_per_second) continue;
    best = {
        .plan = {.most_samples = request.batch != 0 ? request.batch : found.samples,
                 .longest_wait = request.scenario == Scenario::server ? wait_for(request, sizes)
                                                                      : std::chrono::nanoseconds(0),
                 .lanes = lanes,
                 .threads = threads,
                 .runs_in_place = !request.is_gpu && request.scenario == Scenario::offline,
                 .samples_per_second = found.samples_per_second,
                 .seconds = found.seconds},
        .engine = engine};
  }
  if (request.is_gpu && request.scenario == Scenario::server) {
    best.plan.sizes = recorded_sizes(best.plan.most_samples);
    record_sizes(best.engine->engine(), best.plan, request.start_from);
  }
  return best;
}

}  // namespace nibble::inline loadgen
