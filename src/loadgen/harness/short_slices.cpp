// SPDX-License-Identifier: Apache-2.0
// Asks Linux for them, without waiting for a C library that can.
#include "loadgen/harness/short_slices.h"

#include <cstdint>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace nibble::inline loadgen {
namespace {

// struct sched_attr of <linux/sched/types.h>, its first version: that header and <sched.h> exclude
// each other.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // of policies without deadlines: the slice
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

void take_short_slices() {
#if defined(__linux__)
  constexpr int kThisThread = 0;
  constexpr unsigned kNoFlags = 0;
  SchedulingAttributes found;
  if (syscall(SYS_sched_getattr, kThisThread, &found, sizeof found, kNoFlags) != 0) return;
  if (found.policy != SCHED_OTHER) return;  // somebody has decided otherwise
  found.runtime_ns = 100'000;               // the shortest that it takes
  syscall(SYS_sched_setattr, kThisThread, &found, kNoFlags);
#endif
}

}  // namespace nibble::inline loadgen
