// SPDX-License-Identifier: Apache-2.0
#include "float_training/step_rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "nibble/core/philox.h"

namespace nibble::inline float_training {
namespace {

constexpr IntegerGrid kGrids[] = {{-127, 127},
                                  {-8, 7},
                                  {0, 255},
                                  {-4194303, 4194303},
                                  {-4194304, 4194304},
                                  {-kMaxInteger, kMaxInteger}};

// Ties, their neighbours, ends, zeros of both signs, and numbers of all sizes.
std::vector<float> hard_values(float step) {
  std::vector<float> values = {0.0F,   -0.0F,  1e30F,
                               -1e30F, 1e-40F, std::numeric_limits<float>::infinity()};
  for (int n = -300; n <= 300; ++n) {
    const float tie = (static_cast<float>(n) + 0.5F) * step;
    for (const float x : {tie, std::nextafter(tie, 1e9F), std::nextafter(tie, -1e9F)})
      values.push_back(x);
  }
  for (std::size_t i = 0; i < 4000; ++i) {
    const auto bits = draw32({3, 1, 0}, i);
    const auto x = std::bit_cast<float>(bits);
    if (std::isfinite(x)) values.push_back(x);
  }
  return values;
}

TEST(StepRounding, HasTheBitsOfTheDefinition) {
  for (const IntegerGrid& grid : kGrids) {
    for (const float step : {1.0F, 0.25F, 0.0137F, 3.1e-5F}) {
      std::vector<float> values = hard_values(step);
      std::vector<float> rounded(values.size());
      round_to_steps(values, step, grid, rounded.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float expected = fake_quantized(values[i], step, grid);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(expected))
            << values[i] << " in steps of " << step << " up to " << grid.high;
      }
      const std::vector<float> before = rounded;
      round_to_steps(values, step, grid, values.data());
      EXPECT_EQ(values, before) << "in place";
    }
  }
}

TEST(StepRounding, NaNStaysNaN) {
  const std::vector<float> values = {NAN};
  float rounded = 0;
  round_to_steps(values, 0.5F, {-8, 7}, &rounded);
  EXPECT_TRUE(std::isnan(rounded));
}

TEST(StepRounding, GradientsAreThoseOfLsq) {
  // Below, at the low end, inside, a tie, at the high end, above.
  const std::vector<float> x = {-1.25F, -1.0F, 0.3F, 0.25F, 1.5F, 1.51F};
  std::vector<float> error = {1, 2, 4, 8, 16, 32};
  std::vector<float> passed(x.size());
  const double sum = pass_back_steps(x, error.data(), 0.5F, {-2, 3}, passed.data());
  EXPECT_EQ(passed, (std::vector<float>{0, 2, 4, 8, 16, 0}));
  // R(0.6) - 0.6 = 0.4, R(0.5) - 0.5 = 0.5.
  EXPECT_NEAR(sum, 1 * -2 + 2 * 0 + 4 * 0.4 + 8 * 0.5 + 16 * 0 + 32 * 3, 1e-5);
  EXPECT_EQ(pass_back_steps(x, error.data(), 0.5F, {-2, 3}, nullptr), sum);
  EXPECT_EQ(pass_back_steps(x, error.data(), 0.5F, {-2, 3}, error.data()), sum);
  EXPECT_EQ(error, passed) << "in place";
}

TEST(StepRounding, TheFactorCountsElementsAndTheHighEnd) {
  EXPECT_DOUBLE_EQ(step_gradient_factor(100, {-8, 7}), 1 / std::sqrt(700.0));
  EXPECT_DOUBLE_EQ(step_gradient_factor(100, {-8, 0}), 1 / std::sqrt(800.0));
}

}  // namespace
}  // namespace nibble::inline float_training
