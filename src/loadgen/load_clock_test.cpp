// SPDX-License-Identifier: Apache-2.0
// Tests of the clock of a run against the steady one.
#include "loadgen/load_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace nibble::inline loadgen {
namespace {

using Steady = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The time that `Inner` sees pass within what `Outer` sees.
template <class Outer, class Inner>
void expect_inner_within_outer() {
  const auto outer = Outer::now();
  const auto inner = Inner::now();
  std::this_thread::sleep_for(30ms);
  const auto seen = Inner::now() - inner;
  const auto most = Outer::now() - outer;
  EXPECT_GE(seen, 29ms);
  EXPECT_LE(seen, most + most / 1000);
}

TEST(LoadClock, RunsAsFastAsTheSteadyClock) {
  (void)LoadClock::now();  // which measures
  expect_inner_within_outer<Steady, LoadClock>();
  expect_inner_within_outer<LoadClock, Steady>();
}

TEST(LoadClock, HasTheSteadyClocksEpoch) {
  (void)LoadClock::now();
  const auto before = Steady::now().time_since_epoch();
  const auto now = LoadClock::now().time_since_epoch();
  const auto after = Steady::now().time_since_epoch();
  EXPECT_GE(now, before - 1ms);
  EXPECT_LE(now, after + 1ms);
}

TEST(LoadClock, NeverGoesBack) {
  auto last = LoadClock::now();
  for (int i = 0; i < 100'000; ++i) {
    const auto now = LoadClock::now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace nibble::inline loadgen
