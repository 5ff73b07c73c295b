// SPDX-License-Identifier: Apache-2.0
// Tests of which batches are chosen, of engines whose times are made up.
#include "loadgen/harness/batch_plan.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <vector>

#include "loadgen/harness/test_made_up_times.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline loadgen {
namespace {

using namespace std::chrono_literals;

TEST(BatchPlans, OfOfflineTakeTheSmallestOfTheFastest) {
  MadeUpTimes times{.a = 1e-4, .b = 1e-4};
  const BatchPlan plan = times.plan({.scenario = Scenario::offline, .threads = 2});
  EXPECT_EQ(plan.most_samples, 128U);  // 1/129 from the fastest of all, 512's is 1/513
  EXPECT_EQ(plan.lanes, 1);
  EXPECT_EQ(plan.threads, 2);
  EXPECT_TRUE(plan.runs_in_place);
  EXPECT_EQ(times.asked.back(), 512U);
}

// ResNet-50 on two cores: 512 of them would take ten seconds.
TEST(BatchPlans, OfSlowNetworksTakeSecondsNotMinutes) {
  MadeUpTimes times{.a = 0.005, .b = 0.02};
  const BatchPlan plan = times.plan({.scenario = Scenario::offline, .threads = 2});
  EXPECT_LE(times.spent, 3);
  EXPECT_GE(plan.most_samples, 8U);
  MadeUpTimes slower{.a = 10, .b = 10};
  EXPECT_EQ(slower.plan({.scenario = Scenario::offline, .threads = 2}).most_samples, 1U);
  EXPECT_EQ(slower.asked, (std::vector<std::size_t>{1}));
}

TEST(BatchPlans, OfStreamsHaveWhatAQueryHas) {
  MadeUpTimes times{.a = 1e-3, .b = 1e-3};
  EXPECT_EQ(times.plan({.scenario = Scenario::multi_stream, .threads = 2, .samples_per_query = 8})
                .most_samples,
            8U);
  EXPECT_EQ(times.asked, (std::vector<std::size_t>{8, 8}));  // threads together, and one alone
}

TEST(BatchPlans, OfServerFitIntoTheLatencyBound) {
  MadeUpTimes times{.a = 1e-4, .b = 3e-4, .c = 1};
  const BatchPlan plan =
      times.plan({.scenario = Scenario::server, .threads = 2, .latency_bound = 15ms});
  EXPECT_LE(4 * plan.seconds, 0.015);
  EXPECT_EQ(plan.most_samples, 8U);
  EXPECT_EQ(plan.lanes, 2);  // whose times are those of one
  EXPECT_EQ(plan.threads, 1);
  EXPECT_FALSE(plan.runs_in_place);
}

// c: a lane of all threads is faster by that than one of a single thread.
TEST(BatchPlans, OfServerLetThreadsWorkTogetherWhereItIsWorthIt) {
  const auto lanes_of = [](double b, double c) {
    MadeUpTimes times{.a = 0, .b = b, .c = c};
    return times.plan({.scenario = Scenario::server, .threads = 2, .latency_bound = 15ms}).lanes;
  };
  EXPECT_EQ(lanes_of(1e-4, 2.0), 2);
  EXPECT_EQ(lanes_of(1e-4, 2.38), 2);
  EXPECT_EQ(lanes_of(1e-4, 2.42), 1);
  EXPECT_EQ(lanes_of(1.8e-3, 2.0), 2);
  EXPECT_EQ(lanes_of(1.8e-3, 2.09), 1);  // four singles of 7.5 ms are later than 15 ms
}

TEST(BatchPlans, OfServerTakeAFewThatWaitTogether) {
  MadeUpTimes times{.a = 0, .b = 3e-4};  // as fast one by one
  PlanRequest request{.scenario = Scenario::server, .threads = 2, .latency_bound = 15ms};
  const BatchPlan plan = times.plan(request);
  EXPECT_EQ(plan.most_samples, 4U);
  EXPECT_EQ(plan.longest_wait, 0ns);
  EXPECT_DOUBLE_EQ(plan.samples_per_second, 2 / 3e-4);
  times.b = 3e-3;  // of which four are too late
  EXPECT_EQ(times.plan(request).most_samples, 1U);
}

// Two lanes answer 5,000 single samples a second, 5,714 in pairs, 6,400 in batches of 8.
TEST(BatchPlans, OfServerWaitWhereSingleSamplesAreTooSlow) {
  MadeUpTimes times{.a = 1e-4, .b = 3e-4};
  PlanRequest request{
      .scenario = Scenario::server, .threads = 2, .target_qps = 1000, .latency_bound = 15ms};
  EXPECT_EQ(times.plan(request).longest_wait, 0ns);
  request.target_qps = 5000;  // 0.9 · 5,714 will do
  EXPECT_EQ(times.plan(request).longest_wait, 400us);
  request.target_qps = 1e6;  // too much for all
  EXPECT_EQ(times.plan(request).longest_wait, 8us);
  request.target_qps = 20;  // whatever comes, a quarter of the bound is the most
  times = {.a = 1e-1, .b = 0};
  EXPECT_EQ(times.plan(request).longest_wait, 3750us);
}

TEST(BatchPlans, OfServerSayUntilWhenASampleCanBeInTime) {
  MadeUpTimes times{.a = 0, .b = 5e-4};
  PlanRequest request{.scenario = Scenario::server, .threads = 2, .latency_bound = 15ms};
  EXPECT_EQ(times.plan(request).in_time_for, 11ms);  // 15 less twice 4 · 0.5, though 1 is as fast
  request.is_gpu = true;                             // whose oldest is always the first
  EXPECT_EQ(times.plan(request).in_time_for, 0ns);
  request.is_gpu = false;
  times.b = 1e-1;  // never in time: none lets others go first
  EXPECT_EQ(times.plan(request).in_time_for, 0ns);
  EXPECT_EQ(times.plan({.scenario = Scenario::offline, .threads = 2}).in_time_for, 0ns);
}

TEST(BatchPlans, OfServerAreMadeForTheLoadThatWillBeSet) {
  MadeUpTimes times{.a = 2e-4, .b = 2e-4};
  const PlanRequest request{.scenario = Scenario::server, .threads = 2, .latency_bound = 15ms};
  const BatchPlan plan = times.plan(request);
  EXPECT_GT(plan.longest_wait, 0ns);
  PlanRequest said = request;
  said.target_qps = kServerShare * plan.samples_per_second;
  EXPECT_EQ(times.plan(said).longest_wait, plan.longest_wait);
  said.target_qps *=
      3;  // of three devices that share it: batches come together three times as fast
  said.devices = 3;
  EXPECT_EQ(times.plan(said).longest_wait / 1us, plan.longest_wait / 3us);
}

TEST(BatchPlans, OfGpusGrowAsLongAsItIsWorthIt) {
  MadeUpTimes times{.a = 1e-2, .b = 1e-5, .c = 2};
  const PlanRequest request{.scenario = Scenario::offline, .is_gpu = true};
  const BatchPlan plan = times.plan(request);
  EXPECT_EQ(plan.most_samples, 8192U);
  EXPECT_EQ(plan.samples_per_second, plan.lanes * 8192 / plan.seconds);
  EXPECT_EQ(std::ranges::count(times.asked, 4096U), 1);  // with the best of lanes alone
  times = {.a = 1.5e-5, .b = 1e-6};                      // 2,048 are 0.7 % faster than 1,024
  EXPECT_EQ(times.plan(request).most_samples, 1024U);
  times = {.a = 1e-2, .b = 1e-5, .c = 2, .most_memory = 4 * 2048};
  EXPECT_EQ(times.plan(request).most_samples, 2048U);
}

TEST(BatchPlans, OfServersOnGpusRecordEverySize) {
  MadeUpTimes times{.a = 1e-4, .b = 1e-6};
  const BatchPlan plan =
      times.plan({.scenario = Scenario::server, .is_gpu = true, .latency_bound = 15ms});
  EXPECT_EQ(plan.sizes.front(), 1U);
  EXPECT_EQ(plan.sizes.back(), plan.most_samples);
  for (const std::size_t size : plan.sizes) EXPECT_GE(std::ranges::count(times.asked, size), 1);
}

TEST(BatchPlans, EndAtASignal) {
  const InterruptGuard guard;
  std::raise(SIGINT);
  EXPECT_THROW(plan_batches({.scenario = Scenario::offline, .threads = 1},
                            [](const EngineOptions& options) {
                              return std::make_unique<AnswerEngine>(channel_sums(false), options);
                            }),
               Interrupted);
}

}  // namespace
}  // namespace nibble::inline loadgen
