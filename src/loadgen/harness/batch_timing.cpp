// SPDX-License-Identifier: Apache-2.0
// Runs batches of made-up numbers.
#include "loadgen/harness/batch_timing.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check_interrupt() {
  if (interrupt_requested())
    throw Interrupted(interrupt_signal(), "interrupted: LoadGen had not begun");
}

// Zeros, or what is nearest to them.
std::vector<std::byte> made_up(const ValueInfo& info, std::size_t samples) {
  const auto number =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(0, info.low, info.high) + info.zero);
  std::vector<std::byte> numbers(samples * info.bytes);
  for (std::size_t at = 0; at < numbers.size(); at += size_of(info.dtype))
    std::memcpy(&numbers[at], &number, size_of(info.dtype));
  return numbers;
}

}  // namespace

BatchTiming time_batches(const Engine& engine, const TimingRequest& request) {
  const Clock::time_point asked = Clock::now();
  const std::vector<std::byte> numbers = made_up(engine.input(), request.samples);
  const EngineBuffer input = engine.allocate(numbers.size(), request.place);
  input.write(numbers);
  const auto lanes = static_cast<std::size_t>(request.lanes);
  std::vector<EngineBuffer> outputs;
  for (std::size_t i = 0; i < lanes; ++i)
    outputs.push_back(engine.allocate(request.samples * engine.output().bytes, BufferPlace::host));
  std::vector<PendingRun> lane(lanes);
  const auto begin = [&](std::size_t i) {
    check_interrupt();
    lane[i] = engine.submit(input.bytes(), static_cast<std::int64_t>(request.samples),
                            outputs[i].bytes());
  };
  const auto begin_all = [&] {
    for (std::size_t i = 0; i < lanes; ++i) begin(i);
  };
  const auto end_all = [&] {
    for (PendingRun& each : lane) each.get();
  };
  for (int round = 0; round < kUntimedRounds; ++round) {
    begin_all();
    end_all();
  }
  const Clock::time_point start = Clock::now();
  std::vector<Clock::time_point> began(lanes, start);
  std::vector<double> times;  // of each batch
  const auto end_next = [&] {
    const std::size_t i = times.size() % lanes;
    lane[i].get();
    times.push_back(seconds_since(std::exchange(began[i], Clock::now())));
    return i;
  };
  begin_all();
  while (Clock::now() < start + request.time || times.size() < (kTimedRounds - 1) * lanes)
    begin(end_next());
  for (std::size_t i = 0; i < lanes; ++i) end_next();
  const double seconds = seconds_since(start);
  const auto median = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, median);
  const auto samples = static_cast<double>(request.samples);
  return {.samples = request.samples,
          .samples_per_second = samples * static_cast<double>(times.size()) / seconds,
          .seconds = *median,
          .peak = samples * request.lanes / *median,
          .spent = seconds_since(asked)};
}

}  // namespace nibble::inline loadgen
