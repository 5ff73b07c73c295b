// SPDX-License-Identifier: Apache-2.0
// The clock of steps.
#include "placement/planned_work.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace nibble::inline placement {

Nanoseconds TimedSteps::usual_step() {
  constexpr std::size_t kLeast = 3;
  constexpr std::size_t kMost = 15;
  constexpr Nanoseconds kEnough = 30'000'000;
  std::vector<Nanoseconds> times;
  for (Nanoseconds spent = 0; times.size() < kLeast || (times.size() < kMost && spent < kEnough);) {
    times.push_back(step());
    spent += times.back();
  }
  return median_of(std::move(times));
}

Nanoseconds now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Nanoseconds median_of(std::vector<Nanoseconds> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

std::string name_within(std::string name, std::int64_t most_memory) {
  return most_memory == 0 ? name : std::move(name) + " within " + std::to_string(most_memory);
}

}  // namespace nibble::inline placement
