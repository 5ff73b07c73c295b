// SPDX-License-Identifier: Apache-2.0
// Compares the processor's counter with the steady clock, once.
#include "loadgen/load_clock.h"

#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace nibble::inline loadgen {

#if defined(__x86_64__)
namespace {

constexpr const char* kClockOfTheKernel =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
// Both are read within some 50 ns of each other: 5 millionths of this time.
constexpr std::chrono::milliseconds kMeasured{10};
constexpr int kTries = 8;

bool is_trusted() {
  std::string name;
  std::ifstream(kClockOfTheKernel) >> name;
  return name == "tsc";
}

struct Reading {
  std::uint64_t ticks = 0;
  std::chrono::nanoseconds time{0};
};

// Of several the one between whose ticks the least time went.
Reading read_both() {
  Reading best;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = __rdtsc();
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    const std::uint64_t between = __rdtsc() - before;
    if (between >= least) continue;
    least = between;
    best = {before + between / 2, time};
  }
  return best;
}

}  // namespace

LoadClock::Counter LoadClock::measure() {
  if (!is_trusted()) return {};
  const Reading first = read_both();
  std::this_thread::sleep_for(kMeasured);
  const Reading last = read_both();
  return {.ns_a_tick = static_cast<double>((last.time - first.time).count()) /
                       static_cast<double>(last.ticks - first.ticks),
          .start = first.ticks,
          .start_time = first.time};
}
#endif

}  // namespace nibble::inline loadgen
