// SPDX-License-Identifier: Apache-2.0
// Time in a run: nanoseconds of the steady clock, read from the processor's counter where the
// kernel itself trusts that one. Two readings a query are most of what a network that takes no time
// would cost under LoadGen, and the counter takes a third of the steady clock's time.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace nibble::inline loadgen {

struct LoadClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<LoadClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
#if defined(__x86_64__)
    const Counter& counter = the_counter();
    if (counter.ns_a_tick > 0) {
      const auto ticks = static_cast<std::int64_t>(__rdtsc() - counter.start);
      const double ns = counter.ns_a_tick * static_cast<double>(ticks);
      return time_point(counter.start_time + duration(static_cast<rep>(ns)));
    }
#endif
    return time_point(std::chrono::steady_clock::now().time_since_epoch());
  }

 private:
  struct Counter {
    double ns_a_tick = 0;  // 0: it is not trusted
    std::uint64_t start = 0;
    duration start_time{0};
  };
  static Counter measure();
  static const Counter& the_counter() {
    static const Counter counter = measure();
    return counter;
  }
};

}  // namespace nibble::inline loadgen
