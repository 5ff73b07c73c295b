// SPDX-License-Identifier: Apache-2.0
// Tests of how Server's batches come together, with a clock that is made up.
#include "loadgen/harness/waiting_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "loadgen/harness/test_made_up_times.h"

namespace nibble::inline loadgen {
namespace {

using namespace std::chrono_literals;
using Time = LoadClock::time_point;

std::vector<std::size_t> ids_of(const WaitedBatch& batch) {
  std::vector<std::size_t> ids;
  for (const mlperf::QuerySample& each : batch.samples) ids.push_back(each.id);
  return ids;
}

TEST(WaitingSamples, AreTakenInTheOrderInWhichTheyCame) {
  const BatchPlan plan{.most_samples = 3};
  WaitingSamples waiting(plan);
  EXPECT_FALSE(waiting.is_ready(Time(1s)));
  waiting.add(std::vector<mlperf::QuerySample>{{0, 0}, {1, 0}}, Time(1us));
  waiting.add(std::vector<mlperf::QuerySample>{{2, 0}, {3, 0}}, Time(2us));
  const WaitedBatch& batch = waiting.take(Time(3us));
  EXPECT_EQ(ids_of(batch), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(batch.issued, (std::vector<Time>{Time(1us), Time(1us), Time(2us)}));
  EXPECT_EQ(waiting.size(), 1U);
  EXPECT_EQ(ids_of(waiting.take(Time(3us))), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(waiting.is_empty());
}

TEST(WaitingSamples, WaitForOthersUntilTheirTimeIsOver) {
  const BatchPlan plan{.most_samples = 2, .longest_wait = 5us};
  WaitingSamples waiting(plan);
  const std::vector<mlperf::QuerySample> one = {{0, 0}};
  waiting.add(one, Time(1us));
  EXPECT_FALSE(waiting.is_ready(Time(5us)));
  EXPECT_TRUE(waiting.is_ready(Time(6us)));
  waiting.add(one, Time(2us));
  EXPECT_TRUE(waiting.is_ready(Time(2us)));
  waiting.take(Time(3us));
  waiting.add(one, Time(3us));
  waiting.flush();
  EXPECT_TRUE(waiting.is_ready(Time(3us)));
  waiting.add(one, Time(3us));
  waiting.take(Time(3us));
  waiting.add(one, Time(4us));
  EXPECT_FALSE(waiting.is_ready(Time(4us)));  // what came since is not flushed
}

TEST(WaitingSamples, AreTakenInSizesThatArePlanned) {
  const BatchPlan plan{.most_samples = 8, .sizes = {1, 2, 5, 8}};
  WaitingSamples waiting(plan);
  waiting.add(std::vector<mlperf::QuerySample>(15), Time(0s));
  std::vector<std::size_t> sizes;
  while (!waiting.is_empty()) sizes.push_back(waiting.take(Time(3us)).samples.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 5, 2}));
}

TEST(WaitingSamples, ThatAreLateLetOthersGoFirst) {
  const BatchPlan plan{.most_samples = 2, .longest_wait = 5us, .in_time_for = 10us};
  WaitingSamples waiting(plan);
  waiting.add(std::vector<mlperf::QuerySample>{{0, 0}, {1, 0}, {2, 0}}, Time(0us));
  waiting.add(std::vector<mlperf::QuerySample>{{3, 0}, {4, 0}, {5, 0}}, Time(6us));
  EXPECT_EQ(ids_of(waiting.take(Time(10us))), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(ids_of(waiting.take(Time(11us))), (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(waiting.size(), 2U);
  const WaitedBatch& batch = waiting.take(Time(12us));
  EXPECT_EQ(ids_of(batch), (std::vector<std::size_t>{5, 2}));  // which has room for it
  EXPECT_EQ(batch.issued, (std::vector<Time>{Time(6us), Time(0us)}));
  EXPECT_TRUE(waiting.is_empty());
}

TEST(WaitingSamples, ThatAreLateWaitForNobody) {
  const BatchPlan plan{.most_samples = 2, .longest_wait = 5us, .in_time_for = 10us};
  WaitingSamples waiting(plan);
  waiting.add(std::vector<mlperf::QuerySample>{{0, 0}}, Time(0us));
  waiting.add(std::vector<mlperf::QuerySample>{{1, 0}, {2, 0}}, Time(11us));
  EXPECT_EQ(ids_of(waiting.take(Time(11us))), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(waiting.is_ready(Time(11us)));
  EXPECT_EQ(ids_of(waiting.take(Time(11us))), (std::vector<std::size_t>{0}));
  EXPECT_FALSE(waiting.is_ready(Time(11us)));
}

struct Mishaps {
  double pause = 0;  // of every second: the machine stands still
  double slow = 0;   // of every ten seconds: batches take half as long again
};

// A server of two lanes for `seconds`: the time that 99 % of its samples take at most.
double tail_of(const BatchPlan& plan, const MadeUpTimes& times, double load, const Mishaps& mishaps,
               double seconds = 20) {
  WaitingSamples waiting(plan);
  const auto time_of = [](double at) {
    return Time(std::chrono::duration_cast<LoadClock::duration>(std::chrono::duration<double>(at)));
  };
  std::mt19937_64 draw(1);
  const auto next_after = [&](double now) {
    return now - std::log(std::ldexp(static_cast<double>((draw() >> 11) + 1), -53)) / load;
  };
  const auto standing = [&](double now) { return now - std::floor(now) < mishaps.pause; };
  const auto slowness = [&](double now) { return std::fmod(now, 10) < mishaps.slow ? 1.5 : 1; };
  std::vector<double> ends(static_cast<std::size_t>(plan.lanes), 0);
  std::vector<double> taken;
  constexpr double kStep = 1e-5;
  double comes = next_after(0);
  for (double now = 0; now < seconds; now += kStep) {
    for (; comes <= now; comes = next_after(comes))
      waiting.add(std::vector<mlperf::QuerySample>{{0, 0}}, time_of(comes));
    if (standing(now)) {
      for (double& end : ends) end += kStep;
      continue;
    }
    for (double& end : ends) {
      if (end > now || !waiting.is_ready(time_of(now))) continue;
      const WaitedBatch& batch = waiting.take(time_of(now));
      end = now + slowness(now) * times.seconds_of(batch.samples.size(), plan.lanes);
      for (const Time issued : batch.issued)
        taken.push_back(end - std::chrono::duration<double>(issued.time_since_epoch()).count());
    }
  }
  const auto tail = taken.begin() + static_cast<std::ptrdiff_t>(taken.size() - taken.size() / 100);
  std::ranges::nth_element(taken, tail);
  return *tail;
}

// ResNet-20 on two cores: 0.34 ms a sample and core in large batches, 0.45 alone.
const MadeUpTimes kTwoCores{.a = 1.1e-4, .b = 3.4e-4};

TEST(WaitingSamples, AtFourFifthsOfOfflinesSpeedAreAnsweredInHalfOfTheBound) {
  const double load = kServerShare * 2 / kTwoCores.b;
  const BatchPlan plan = MadeUpTimes(kTwoCores).plan(
      {.scenario = Scenario::server, .threads = 2, .target_qps = load, .latency_bound = 15ms});
  EXPECT_EQ(plan.lanes, 2);
  EXPECT_LE(tail_of(plan, kTwoCores, load, {}), 0.0075);
  // A machine that stands still for 8 ms a second does not make the run invalid.
  const Mishaps pauses{.pause = 0.008};
  EXPECT_LE(tail_of(plan, kTwoCores, load, pauses), 0.015);
  BatchPlan large = plan;
  large.most_samples = 32;
  EXPECT_GT(tail_of(large, kTwoCores, load, pauses), tail_of(plan, kTwoCores, load, pauses));
}

// Cores that others share are slower than the load for a while. Where late samples keep their turn
// the queue is too long for as long as it takes to make up for it; else it costs what was too much.
TEST(WaitingSamples, AreAnsweredInTimeThoughTheMachineIsSlowForAWhile) {
  const double load = kServerShare * 2 / kTwoCores.b;
  const BatchPlan plan = MadeUpTimes(kTwoCores).plan(
      {.scenario = Scenario::server, .threads = 2, .target_qps = load, .latency_bound = 15ms});
  BatchPlan in_turn = plan;
  in_turn.in_time_for = 0ns;
  for (const Mishaps& mishaps : {Mishaps{.slow = 0.3}, Mishaps{.pause = 0.018}}) {
    EXPECT_LE(tail_of(plan, kTwoCores, load, mishaps), 0.015);
    EXPECT_GT(tail_of(in_turn, kTwoCores, load, mishaps), 0.018);
  }
}

}  // namespace
}  // namespace nibble::inline loadgen
