// SPDX-License-Identifier: Apache-2.0
// Tests of the rates of schedules.
#include "nibble/run_folder/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/test_support.h"
#include "run_folder/words.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

// The rate at the start of an epoch of a run of 10 steps an epoch, for a base rate of 1.
double at_epoch(const std::string& text, double epoch, std::int64_t epochs = 100) {
  const auto step = static_cast<std::int64_t>(std::llround(epoch * 10));
  return rate_at(parse_schedule(text), 1.0,
                 {.step = step, .steps_per_epoch = 10, .epochs = epochs});
}

TEST(Schedule, ConstantStays) {
  EXPECT_EQ(rate_at({}, 0.3, {.step = 999, .steps_per_epoch = 10, .epochs = 100}), 0.3);
}

TEST(Schedule, StepsFallAtTheirMilestones) {
  EXPECT_EQ(at_epoch("step(60,80;0.5)", 59.9), 1.0);
  EXPECT_EQ(at_epoch("step(60,80;0.5)", 60), 0.5);
  EXPECT_EQ(at_epoch("step(60,80;0.5)", 79.9), 0.5);
  EXPECT_EQ(at_epoch("step(60,80;0.5)", 99), 0.25);
  EXPECT_EQ(at_epoch("step(0.5;0.5)", 0.5), 0.5);
}

TEST(Schedule, ListedRatesAreAbsolute) {
  const Schedule schedule = parse_schedule("values(2:0.5,4:0.125)");
  const auto rate = [&](std::int64_t epoch) {
    return rate_at(schedule, 8.0, {.step = epoch, .steps_per_epoch = 1, .epochs = 6});
  };
  EXPECT_EQ(rate(0), 8.0);
  EXPECT_EQ(rate(1), 8.0);
  EXPECT_EQ(rate(2), 0.5);
  EXPECT_EQ(rate(3), 0.5);
  EXPECT_EQ(rate(5), 0.125);
}

TEST(Schedule, CosineGoesFromOneToItsFloor) {
  EXPECT_EQ(at_epoch("cosine", 0), 1.0);
  EXPECT_NEAR(at_epoch("cosine", 50), 0.5, 1e-15);
  EXPECT_NEAR(at_epoch("cosine", 100), 0.0, 1e-15);
  EXPECT_NEAR(at_epoch("cosine(0.2)", 100), 0.2, 1e-15);
  EXPECT_NEAR(at_epoch("cosine(0.2)", 50), 0.6, 1e-15);
  EXPECT_EQ(at_epoch("cosine(by=epoch)", 30.9), at_epoch("cosine", 30));
  EXPECT_LT(at_epoch("cosine", 30.9), at_epoch("cosine", 30));
}

// The function of QPyTorch's lp_train and SWALP examples.
double qpytorch_factor(double t, double ratio) {
  if (t <= 0.5) return 1.0;
  if (t <= 0.9) return 1.0 - (1.0 - ratio) * (t - 0.5) / 0.4;
  return ratio;
}

TEST(Schedule, LinearIsThatOfQPyTorch) {
  for (int epoch = 0; epoch < 200; ++epoch) {
    EXPECT_NEAR(at_epoch("linear(by=epoch)", epoch + 0.5, 200),
                qpytorch_factor(epoch / 200.0, 0.01), 1e-14);
  }
  EXPECT_NEAR(at_epoch("linear", 140, 200), 0.505, 1e-14);
  EXPECT_EQ(at_epoch("linear", 199, 200), 0.01);
}

TEST(Schedule, LinearOfSwalpEndsWhereAveragingBegins) {
  const double ratio = 0.01 / 0.05;
  for (int epoch = 0; epoch < 300; ++epoch) {
    EXPECT_NEAR(at_epoch("linear(0.5,0.9,0.2,over=200,by=epoch)", epoch, 300),
                qpytorch_factor(epoch / 200.0, ratio), 1e-14);
  }
}

TEST(Schedule, OneCycleRisesToItsTopAndFalls) {
  EXPECT_NEAR(at_epoch("onecycle", 0), 0.04, 1e-15);
  EXPECT_NEAR(at_epoch("onecycle", 15), 0.52, 1e-15);
  EXPECT_EQ(at_epoch("onecycle", 30), 1.0);
  EXPECT_NEAR(at_epoch("onecycle(0.5,0,0.1)", 75), 0.55, 1e-15);
  EXPECT_EQ(at_epoch("onecycle(0,0.1,0)", 0), 1.0);
  EXPECT_NEAR(at_epoch("onecycle(1,0.5,0)", 50), 0.75, 1e-15);
}

TEST(Schedule, WarmUpIsALineInFrontOfAny) {
  EXPECT_EQ(at_epoch("warmup(4)+constant", 0), 0.0);
  EXPECT_EQ(at_epoch("warmup(4)+constant", 1), 0.25);
  EXPECT_EQ(at_epoch("warmup(4)+constant", 4), 1.0);
  EXPECT_EQ(at_epoch("warmup(10,steps,start=0.5)+constant", 0), 0.5);
  EXPECT_EQ(at_epoch("warmup(10,steps,start=0.5)+constant", 0.5), 0.75);
  EXPECT_EQ(at_epoch("warmup(10,steps,start=0.5)+constant", 1), 1.0);
  EXPECT_EQ(at_epoch("warmup(4)+step(8;0.5)", 8), 0.5);
  EXPECT_EQ(at_epoch("warmup(4)+cosine", 4), 1.0);
  EXPECT_NEAR(at_epoch("warmup(20)+cosine", 60), 0.5, 1e-15);
  EXPECT_EQ(at_epoch("warmup(200)+cosine", 50), 0.25);  // longer than the run
}

TEST(Schedule, PlateauFallsAfterItsPatience) {
  const Schedule schedule = parse_schedule("plateau(0.5,1)");
  const auto& rule = std::get<PlateauRate>(schedule.rate);
  PlateauState state;
  const auto rate = [&] { return rate_at(schedule, 1.0, {.epochs = 100}, state); };
  EXPECT_FALSE(update(rule, state, 1.0, 0));
  EXPECT_FALSE(update(rule, state, 1.0, 1));
  EXPECT_EQ(rate(), 1.0);
  EXPECT_TRUE(update(rule, state, 1.1, 2));
  EXPECT_EQ(rate(), 0.5);
  EXPECT_FALSE(update(rule, state, 0.9, 3));
  EXPECT_FALSE(update(rule, state, std::nan(""), 4));
  EXPECT_TRUE(update(rule, state, 0.9, 5));
  EXPECT_EQ(rate(), 0.25);
}

TEST(Schedule, PlateauGoesOnFromItsWords) {
  const PlateauRate rule{.factor = 0.1, .patience = 0, .metric = Metric::val_top1};
  PlateauState state;
  update(rule, state, 1.0 / 3, 0);
  update(rule, state, 0.1, 1);
  update(rule, state, 0.1, 2);
  EXPECT_EQ(state.reductions, 2);
  Words words;
  put_words(words, "plateau.", state);
  EXPECT_EQ(plateau_words(words, "plateau."), state);
}

TEST(Schedule, ImpossiblePositionsAreRefused) {
  EXPECT_THAT(error_of([] { rate_at({}, 1.0, {.step = -1}); }), HasSubstr("step: got -1"));
  EXPECT_THAT(error_of([] { rate_at({}, 1.0, {.steps_per_epoch = 0}); }),
              HasSubstr("steps an epoch: got 0"));
  EXPECT_THAT(error_of([] { rate_at({}, 1.0, {.epochs = 0}); }), HasSubstr("epochs: got 0"));
}

}  // namespace
}  // namespace nibble::inline run_folder
