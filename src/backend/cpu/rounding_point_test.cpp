// SPDX-License-Identifier: Apache-2.0
// Where shifts come from: exact, delayed, frozen.
#include "backend/cpu/rounding_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nibble::inline backend {
namespace {

using ::testing::ElementsAre;

TEST(Shifts, BringTheLargestSumDownToSevenBits) {
  EXPECT_EQ(shift_for(0), 0);
  EXPECT_EQ(shift_for(128), 0);  // 128 saturates
  EXPECT_EQ(shift_for(129), 1);
  EXPECT_EQ(shift_for(256), 1);
  EXPECT_EQ(shift_for(257), 2);
  EXPECT_EQ(shift_for(std::uint64_t{1} << 40), 33);
}

// What the body was called with, and the largest sum it tells.
struct Body {
  std::uint64_t largest = 0;
  std::vector<int> shifts = {};
  SumsOutcome operator()(const RoundingJob& job) {
    shifts.push_back(job.shift);
    return {.largest = largest, .saturated = 1, .elements = 2};
  }
};

int round(RoundingPoint& point, ShiftRule rule, std::uint64_t largest, std::vector<int>& calls) {
  Body body{largest};
  const int shift =
      point.round({rule, {}, nullptr}, {}, [&](const RoundingJob& job) { return body(job); });
  calls = body.shifts;
  return shift;
}

TEST(Shifts, ExactGuessesAndCorrectsItself) {
  RoundingPoint point({"a.value", ShiftRounding::nearest, 0});
  EXPECT_EQ(point.state().shift, PointState::kUnknown);
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::exact, 1024, calls), 3);
  EXPECT_THAT(calls, ElementsAre(0, 3));
  EXPECT_EQ(round(point, ShiftRule::exact, 1000, calls), 3);
  EXPECT_THAT(calls, ElementsAre(3));
  EXPECT_EQ(round(point, ShiftRule::exact, 1025, calls), 4);
  EXPECT_THAT(calls, ElementsAre(3, 4));
  EXPECT_EQ(round(point, ShiftRule::exact, 5, calls), 0);
  EXPECT_THAT(calls, ElementsAre(4, 0));
  EXPECT_EQ(point.state().batches, 4);
  EXPECT_EQ(point.state().misses, 3);
}

TEST(Shifts, DelayedTakesThoseOfTheLastBatchAndTheFirstIsExact) {
  RoundingPoint point({"a.value", ShiftRounding::nearest, 0});
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::delayed, 1024, calls), 3);
  EXPECT_THAT(calls, ElementsAre(0, 3));
  EXPECT_EQ(round(point, ShiftRule::delayed, 5000, calls), 3);
  EXPECT_THAT(calls, ElementsAre(3));
  EXPECT_EQ(round(point, ShiftRule::delayed, 10, calls), 6);
  EXPECT_THAT(calls, ElementsAre(6));
  EXPECT_EQ(round(point, ShiftRule::delayed, 10, calls), 0);
}

TEST(Shifts, FrozenStayAsTheyWereSet) {
  RoundingPoint point({"a.value", ShiftRounding::nearest, 0});
  point.restore({.shift = 4});
  std::vector<int> calls;
  EXPECT_EQ(round(point, ShiftRule::frozen, 1, calls), 4);
  EXPECT_EQ(round(point, ShiftRule::frozen, 1 << 20, calls), 4);
  EXPECT_THAT(calls, ElementsAre(4));
  EXPECT_EQ(point.state().shift, 4);
}

// Of two ranks; the other one has 5000.
class Larger final : public Communicator {
 public:
  int questions = 0;

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void sum(std::span<std::int32_t>) override {}
  void sum(std::span<std::int64_t>) override {}
  void max(std::span<std::int64_t> values) override {
    values[0] = std::max<std::int64_t>(values[0], 5000);
    ++questions;
  }
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
};

// Frozen ones ask nobody.
TEST(Shifts, AreThoseOfTheLargestSumOfAllRanks) {
  Larger cluster;
  RoundingPoint point({"a.value", ShiftRounding::nearest, 0});
  Body body{100};
  const auto round_by = [&](ShiftRule rule) {
    return point.round({rule, {}, &cluster}, {}, [&](const RoundingJob& job) { return body(job); });
  };
  EXPECT_EQ(round_by(ShiftRule::exact), 6);
  const int questions = cluster.questions;
  EXPECT_EQ(questions, 1);  // the first guess was wrong, and what all have is known by then
  EXPECT_THAT(body.shifts, ElementsAre(0, 6));
  EXPECT_EQ(round_by(ShiftRule::frozen), 6);
  EXPECT_EQ(cluster.questions, questions);
}

// Where three errors meet.
TEST(Shifts, OfASecondRoundingInAStepAreWhatTheFirstWanted) {
  Larger cluster;
  RoundingPoint point({"a.errors", ShiftRounding::nearest, 0});
  point.restore({.shift = 2});
  std::vector<LateMaximum> late;
  const auto round_sum_of = [&](std::uint64_t largest) {
    Body body{largest};
    return point.round({ShiftRule::delayed, {}, &cluster, nullptr, &late}, {},
                       [&](const RoundingJob& job) { return body(job); });
  };
  EXPECT_EQ(round_sum_of(100), 2);
  EXPECT_EQ(cluster.questions, 0);  // until then the step's end is soon enough
  EXPECT_EQ(round_sum_of(10'000), 6);
  EXPECT_EQ(cluster.questions, 1);
  EXPECT_EQ(round_sum_of(7), 7);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].largest, 7);
}

TEST(Shifts, LeaveOtherWorkToTheTimeOfWaiting) {
  for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed, ShiftRule::frozen}) {
    RoundingPoint point({"a.value", ShiftRounding::nearest, 0});
    Body body{5000};
    int calls = 0;
    point.round(
        {rule, {}, nullptr}, {}, [&](const RoundingJob& job) { return body(job); },
        [&] { ++calls; });
    EXPECT_EQ(calls, 1);  // however often sums are rounded
  }
}

}  // namespace
}  // namespace nibble::inline backend
