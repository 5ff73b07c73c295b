// SPDX-License-Identifier: Apache-2.0
// Waits as long as it was told to.
#include "backend/pretend/pretend_pace.h"

#include <sys/prctl.h>

#include <thread>

#include "nibble/core/error.h"

namespace nibble::inline backend {
namespace {

using Clock = std::chrono::steady_clock;

// Others may use the processor while it lasts; the kernel is asked to wake this thread in time.
void wait_until(Clock::time_point end) {
  constexpr auto kSleepError = std::chrono::microseconds(20);
  static thread_local const int is_punctual = prctl(PR_SET_TIMERSLACK, 1000UL);
  static_cast<void>(is_punctual);
  if (end - Clock::now() > 2 * kSleepError) std::this_thread::sleep_until(end - kSleepError);
  while (Clock::now() < end) continue;
}

}  // namespace

void PretendPace::copy(std::size_t bytes) const {
  wait_until(Clock::now() + std::chrono::nanoseconds(1000 * options_.copy_microseconds +
                                                     static_cast<std::int64_t>(bytes) *
                                                         options_.copy_picoseconds_a_byte / 1000));
}

void PretendPace::count_operation() {
  if (options_.lost_after > 0 && ++operations_ > options_.lost_after)
    throw Error("pretend", "device", "none any more", "one that stays", ErrorKind::device);
}

void PretendPace::slow_down(Clock::time_point begin) const {
  if (options_.slowdown > 1) wait_until(begin + (Clock::now() - begin) * options_.slowdown);
}

}  // namespace nibble::inline backend
