// SPDX-License-Identifier: Apache-2.0
// Tests of divisions as products: every sum that can come, and logits to half a unit.
#include "foreign/layer_directory/layer_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nibble::inline foreign {
namespace {

TEST(AverageMultiplier, GivesTheNearestMeanOfEverySumOf49) {
  const auto m = average_multiplier(7, 127);
  ASSERT_EQ(m, 342392);  // 2^24 / 49 = 342392.16…
  for (std::int64_t sum = 0; sum <= std::int64_t{49} * 127; ++sum) {
    ASSERT_EQ((sum * *m + (1 << 23)) >> 24, (2 * sum + 49) / 98) << sum;
  }
}

TEST(AverageMultiplier, OtherKernelsAreRightOrRefused) {
  for (std::int64_t kernel = 1; kernel <= 18; ++kernel) {
    const auto m = average_multiplier(kernel, 127);
    ASSERT_TRUE(m) << kernel;
    const std::int64_t window = kernel * kernel;
    for (std::int64_t sum = 0; sum <= window * 127; ++sum) {
      const std::int64_t up = sum % window * 2 >= window ? 1 : 0;
      ASSERT_EQ((sum * *m + (1 << 23)) >> 24, sum / window + up) << kernel << " " << sum;
    }
  }
  EXPECT_EQ(average_multiplier(1, 15), 1 << 24);
  EXPECT_EQ(average_multiplier(6, 127), 466034);
  EXPECT_FALSE(average_multiplier(0, 127));
  EXPECT_FALSE(average_multiplier(63, 127));
  EXPECT_FALSE(average_multiplier(std::numeric_limits<std::int64_t>::max(), 127));
}

TEST(LogitMultipliers, AreTheNearestWithTheLargestShift) {
  const auto logits = logit_multipliers(std::vector<float>{2414.5F, 4096, 10401.25F});
  ASSERT_TRUE(logits);
  EXPECT_EQ(logits->shift, 26);
  EXPECT_EQ(logits->multipliers, (std::vector<std::int32_t>{1821514397, 1 << 30, 422838266}));
  const auto smaller = logit_multipliers(std::vector<float>{2048, 1});
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->shift, 14);  // 2^31 would be one too many
  EXPECT_EQ(smaller->multipliers, (std::vector<std::int32_t>{1 << 19, 1 << 30}));
  EXPECT_EQ(logit_multipliers(std::vector<float>{2048.5F})->shift, 26);
  EXPECT_EQ(logit_multipliers(std::vector<float>{2048})->shift, 25);
}

TEST(LogitMultipliers, RefuseWhatHasNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {0.0F, -1.0F, std::nanf(""), kInfinity, 1e-6F, 1e14F}) {
    EXPECT_FALSE(logit_multipliers(std::vector<float>{2414.5F, wrong})) << wrong;
  }
  EXPECT_FALSE(logit_multipliers({}));
}

}  // namespace
}  // namespace nibble::inline foreign
