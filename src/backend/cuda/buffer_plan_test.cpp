// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/buffer_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace nibble::cuda {
namespace {

constexpr StepKind kTraining{.images = 64, .is_training = true};

// Positive numbers take so many bytes, -n gives the n-th buffer of the step back.
using Calls = std::vector<int>;

class PlannedSteps {
 public:
  // True where every buffer had a place.
  bool run(const Calls& calls, const StepKind& kind = kTraining) {
    if (plan.end()) plan.find_places();
    plan.begin(kind);
    std::vector<BufferPlan::Loan> loans;
    std::vector<bool> is_back;
    bool has_places = true;
    for (const int call : calls) {
      if (call > 0) {
        loans.push_back(plan.take(static_cast<std::size_t>(call)));
        is_back.push_back(false);
        has_places = has_places && loans.back().place.has_value();
        for (std::size_t i = 0; i + 1 < loans.size(); ++i) {
          if (!is_back[i]) expect_apart(loans[i], loans.back());
        }
      } else {
        const auto which = static_cast<std::size_t>(-call - 1);
        plan.give(loans[which]);
        is_back[which] = true;
      }
    }
    for (std::size_t i = 0; i < loans.size(); ++i) {
      if (!is_back[i]) plan.give(loans[i]);
    }
    return has_places;
  }

  BufferPlan plan;

 private:
  static void expect_apart(const BufferPlan::Loan& a, const BufferPlan::Loan& b) {
    if (!a.place || !b.place) return;
    EXPECT_TRUE(*a.place + a.bytes <= *b.place || *b.place + b.bytes <= *a.place);
  }
};

TEST(BufferPlan, TheThirdOfEqualStepsHasPlaces) {
  PlannedSteps steps;
  const Calls calls = {256, 512, -1, 256, -2, 512};  // at most 768 at once
  EXPECT_FALSE(steps.run(calls));
  EXPECT_FALSE(steps.run(calls));
  EXPECT_TRUE(steps.run(calls));
  EXPECT_EQ(steps.plan.bytes(), 768U);
  EXPECT_TRUE(steps.run(calls));
}

// A hole that no first fit could use: what lives long lies at one end.
TEST(BufferPlan, PlacesAreFoundForAllTogether) {
  PlannedSteps steps;
  const Calls calls = {1024, 256, -1, 512, 512, -2, 256, 256};
  for (int i = 0; i < 2; ++i) steps.run(calls);
  EXPECT_TRUE(steps.run(calls));
  EXPECT_EQ(steps.plan.bytes(), 1536U);
}

TEST(BufferPlan, AStepThatTakesOthersGetsNoPlaceThatIsOnLoan) {
  PlannedSteps steps;
  const Calls calls = {256, -1, 256, -2, 512};
  for (int i = 0; i < 3; ++i) steps.run(calls);
  EXPECT_FALSE(steps.run({256, 256, 512}));  // the first is kept for longer
  EXPECT_TRUE(steps.run(calls));
}

TEST(BufferPlan, KindsHavePlacesOfTheirOwn) {
  PlannedSteps steps;
  const StepKind other{.images = 16, .is_training = true};
  for (int i = 0; i < 3; ++i) {
    steps.run({512, 256}, kTraining);
    steps.run({256, 256, 256, 256}, other);
  }
  EXPECT_TRUE(steps.run({512, 256}, kTraining));
  EXPECT_TRUE(steps.run({256, 256, 256, 256}, other));
  EXPECT_EQ(steps.plan.bytes(), 1024U);
}

TEST(BufferPlan, WhatIsOnLoanWhenAStepEndsKeepsItsPlace) {
  BufferPlan plan;
  for (int i = 0; i < 2; ++i) {
    plan.begin(kTraining);
    plan.give(plan.take(256));
    if (plan.end()) plan.find_places();
  }
  plan.begin(kTraining);
  const BufferPlan::Loan kept = plan.take(256);
  ASSERT_TRUE(kept.place.has_value());
  EXPECT_FALSE(plan.end());
  plan.begin(kTraining);
  const BufferPlan::Loan next = plan.take(256);
  EXPECT_FALSE(next.place.has_value());
  plan.give(kept);
  plan.give(next);
}

TEST(BufferPlan, NoTwoOnLoanOverlapInStepsByChance) {
  std::mt19937 random(1);
  PlannedSteps steps;
  for (int round = 0; round < 200; ++round) {
    Calls calls;
    std::vector<int> there;
    int taken = 0;
    for (int i = 0; i < 40; ++i) {
      if (there.empty() || random() % 5 < 3) {
        calls.push_back(static_cast<int>(random() % 8 + 1) * 256);
        there.push_back(++taken);
      } else {
        const std::size_t which = random() % there.size();
        calls.push_back(-there[which]);
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    for (int i = 0; i < 3; ++i) steps.run(calls);
    EXPECT_TRUE(steps.run(calls));
  }
}

}  // namespace
}  // namespace nibble::cuda
