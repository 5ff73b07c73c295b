// SPDX-License-Identifier: Apache-2.0
// Waits as long as it was told to.
#include "backend/pretend/pretend_pace.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "core/spin.h"
#include "nibble/core/error.h"

namespace nibble::inline backend {

// The kernel is asked to wake this thread in time, and may be late all the same.
void wait_until(PretendClock::time_point end) {
  constexpr auto kSleepError = std::chrono::microseconds(60);
  static thread_local const int is_punctual = prctl(PR_SET_TIMERSLACK, 1000UL);
  static_cast<void>(is_punctual);
  if (end - PretendClock::now() > 2 * kSleepError) std::this_thread::sleep_until(end - kSleepError);
  while (PretendClock::now() < end) relax();
}

std::chrono::nanoseconds PretendPace::copy_time(std::size_t bytes, WireKind wire) const {
  const PretendCopies& more = options_.more[static_cast<std::size_t>(wire)];
  return std::chrono::nanoseconds(
      1000 * (options_.copies.microseconds + more.microseconds) +
      static_cast<std::int64_t>(bytes) *
          (options_.copies.picoseconds_a_byte + more.picoseconds_a_byte) / 1000);
}

void PretendPace::count_operation() {
  if (options_.lost_after > 0 && ++operations_ > options_.lost_after)
    throw Error("pretend", "device", "none any more", "one that stays", ErrorKind::device);
}

void PretendPace::slow_down(PretendClock::time_point begin) const {
  if (options_.slowdown > 1) wait_until(begin + (PretendClock::now() - begin) * options_.slowdown);
}

PretendLane::Copy PretendLane::send(std::chrono::nanoseconds time) {
  const std::lock_guard lock(mutex_);
  const auto begin = std::max(PretendClock::now(), free_at_);
  free_at_ = begin + time;
  return {begin, free_at_};
}

}  // namespace nibble::inline backend
