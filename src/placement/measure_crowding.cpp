// SPDX-License-Identifier: Apache-2.0
// Steps alone and beside others.
#include "placement/measure_crowding.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace nibble::inline placement {
namespace {

// The median of steps while the other one makes steps, too, on a thread of its own. Throws what
// either throws.
Nanoseconds step_beside(TimedSteps& steps, TimedSteps& other) {
  constexpr int kSteps = 3;
  std::exception_ptr failure;  // of the other one
  std::vector<Nanoseconds> times;
  {
    const std::jthread beside([&](const std::stop_token& end) {
      try {
        while (!end.stop_requested()) other.step();
      } catch (...) {
        failure = std::current_exception();
      }
    });
    for (int i = 0; i < kSteps; ++i) times.push_back(steps.step());
  }
  if (failure) std::rethrow_exception(failure);
  return median_of(times);
}

}  // namespace

// In turns, for machines have slow and quick phases.
std::int64_t measure_crowding(TimedSteps& first, TimedSteps& second) {
  constexpr int kTurns = 7;
  std::vector<std::int64_t> thousandths;
  for (int turn = 0; turn <= kTurns; ++turn) {
    const Nanoseconds alone = first.step() + second.step();
    const Nanoseconds crowded = step_beside(first, second) + step_beside(second, first);
    if (turn > 0) thousandths.push_back(1000 * crowded / alone);
  }
  return std::max<std::int64_t>(median_of(thousandths), 1000);
}

}  // namespace nibble::inline placement
