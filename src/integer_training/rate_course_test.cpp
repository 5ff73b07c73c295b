// SPDX-License-Identifier: Apache-2.0
// Rates in integers beside those of floats, and what a step is told.
#include "integer_training/rate_course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nibble/core/error.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::HasSubstr;

double value_of(const ScaledInteger& x) {
  return std::ldexp(static_cast<double>(x.mantissa), x.exponent);
}

TEST(RateCourse, FollowsTheScheduleOfFloats) {
  constexpr std::int64_t kStepsOfEpoch = 37;
  constexpr std::int64_t kEpochs = 12;
  for (const std::string_view text :
       {"constant", "step(3,6.5,9;0.2)", "values(0:0.3,4:0.02,8.25:0.001)", "cosine",
        "cosine(0.05,by=epoch)", "linear", "linear(0.2,0.7,0.1,over=9,by=epoch)", "onecycle",
        "onecycle(0.5,0,0)", "onecycle(1,0.1,0)", "warmup(2)+cosine",
        "warmup(50,steps,start=0.1)+step(6;0.5)", "warmup(20)+cosine"}) {
    const Schedule schedule = parse_schedule(text);
    for (std::int64_t step = 0; step < kStepsOfEpoch * kEpochs; ++step) {
      const RunPosition position{step, kStepsOfEpoch, kEpochs};
      const double wanted = rate_at(schedule, 0.1, position);
      EXPECT_NEAR(value_of(rate_of_step(schedule, 0.1, position)), wanted, 0.1 * 0x1p-13)
          << text << ", step " << step;
    }
  }
}

// 0.1 = 0.8·2^-3, and 0.8·2^30 = 858'993'459.2.
TEST(RateCourse, ASettingIsTheNearestOfThirtyBits) {
  EXPECT_EQ(scaled_of(0.1), (ScaledInteger{858'993'459, -33}));
  EXPECT_EQ(scaled_of(1), (ScaledInteger{1 << 29, -29}));
  EXPECT_EQ(scaled_of(0), (ScaledInteger{0, 0}));
}

TEST(RateCourse, AStepIsToldRatesOfFifteenBits) {
  IntegerRecipe recipe;
  use_sgd(recipe);
  recipe.rate = 0.1;
  recipe.weight_decay = 5e-4;
  recipe.schedule = {};
  const auto rule = std::get<SgdUpdate>(update_of_step(recipe, {0, 10, 2}, 0, 128));
  EXPECT_EQ(rule.rate, (ScaledInteger{26'214, -18 - 7}));
  EXPECT_EQ(rule.decay.mantissa, std::lround(0.1 * 5e-4 * 0x1p29));  // 0.84·2^-14
  EXPECT_EQ(rule.decay.exponent, -29);
  EXPECT_EQ(rule.momentum, 230);
  EXPECT_NEAR(told_rate(recipe, {0, 10, 2}, 0), 0.1, 1e-9);
}

TEST(RateCourse, RefusesWhatTheRuleDoesNotKnow) {
  IntegerRecipe recipe;
  use_sgd(recipe);
  const auto error = [&] {
    try {
      check_course(recipe);
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(), "no error");
  recipe.schedule = parse_schedule("plateau(0.1,5)");
  EXPECT_THAT(error(), HasSubstr("[train] schedule of the rule sgd: got plateau(0.1,5)"));
  recipe.schedule = {};
  recipe.rate = 0;
  EXPECT_EQ(error(), "[train] learning rate: got 0, expected 1e-09 to 1000");
}

}  // namespace
}  // namespace nibble::inline integer_training
