// SPDX-License-Identifier: Apache-2.0
// The error of the answers: goldens, sums of zero, nearness to the softmax.
#include "backend/cpu/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "backend/cpu/block_test_support.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {
namespace {

using ::testing::ElementsAre;
using Differences = std::vector<std::int64_t>;

const std::vector<std::int8_t> kAnswers = {10, -20, 30, 127, -127, 64, 0, 5, -60, 90};

Differences differences_of(std::span<const std::int8_t> answers, int exponent, std::int32_t label,
                           CrossEntropyForm form, std::int64_t smoothing = 0) {
  Differences differences(answers.size());
  cross_entropy_differences(answers, exponent, label, {form, smoothing}, differences);
  return differences;
}

Differences octaves(int exponent) {
  return differences_of(kAnswers, exponent, 0, CrossEntropyForm::whole_octaves);
}

Differences fractional(int exponent, std::int32_t label = 0) {
  return differences_of(kAnswers, exponent, label, CrossEntropyForm::fractional);
}

TEST(CrossEntropy, WholeOctavesAreThoseOfNiti) {
  EXPECT_THAT(octaves(-9), ElementsAre(-1842, 190, 210, 253, 155, 224, 198, 200, 176, 236));
  EXPECT_THAT(octaves(-7), ElementsAre(-1866, 140, 207, 409, 82, 267, 164, 171, 105, 321));
  EXPECT_THAT(octaves(-6), ElementsAre(-1912, 129, 129, 520, 32, 260, 129, 129, 64, 520));
  EXPECT_THAT(octaves(-5), ElementsAre(-2011, 34, 69, 1129, 0, 140, 34, 34, 7, 564));
  EXPECT_THAT(octaves(-3), ElementsAre(-2047, 0, 0, 2018, 0, 0, 0, 0, 0, 29));
  EXPECT_THAT(octaves(0), ElementsAre(-2048, 0, 0, 2048, 0, 0, 0, 0, 0, 0));
}

TEST(CrossEntropy, TheSeriesServesBothForms) {
  for (int exponent = -40; exponent <= -7; ++exponent)
    EXPECT_EQ(fractional(exponent), octaves(exponent)) << exponent;
  EXPECT_NE(fractional(-6), octaves(-6));
}

TEST(CrossEntropy, FractionsHaveTheseGoldens) {
  EXPECT_THAT(fractional(-6), ElementsAre(-1926, 73, 162, 740, 13, 275, 101, 109, 39, 414));
  EXPECT_THAT(fractional(-5), ElementsAre(-2012, 11, 61, 1301, 0, 180, 23, 27, 2, 407));
  EXPECT_THAT(fractional(-4), ElementsAre(-2046, 0, 2, 1832, 0, 33, 0, 0, 0, 179));
  EXPECT_THAT(fractional(-3), ElementsAre(-2047, 0, 0, 2030, 0, 0, 0, 0, 0, 17));
  EXPECT_THAT(fractional(0), ElementsAre(-2048, 0, 0, 2048, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(fractional(-5, 3), ElementsAre(32, 11, 61, -743, 0, 180, 23, 27, 2, 407));
}

TEST(CrossEntropy, DifferencesSumToZeroAndGrowWithTheAnswer) {
  Draws draws(5);
  for (int round = 0; round < 200; ++round) {
    const auto answers = random_mantissas(static_cast<std::size_t>(draws.in(2, 12)), draws);
    const int exponent = draws.in(-30, 20);
    const auto label = draws.in(0, static_cast<int>(answers.size()) - 1);
    for (const auto form : {CrossEntropyForm::fractional, CrossEntropyForm::whole_octaves}) {
      Differences d = differences_of(answers, exponent, label, form);
      EXPECT_EQ(std::accumulate(d.begin(), d.end(), std::int64_t{0}), 0);
      EXPECT_LE(d[static_cast<std::size_t>(label)], 0);
      const std::int64_t others = -d[static_cast<std::size_t>(label)];
      EXPECT_LE(others, 2048);
      for (std::size_t i = 0; i < d.size(); ++i) {
        for (std::size_t k = 0; k < d.size(); ++k) {
          const auto own = static_cast<std::size_t>(label);
          if (i != own && k != own && answers[i] > answers[k]) {
            EXPECT_GE(d[i], d[k]);
          }
        }
      }
    }
  }
}

// The clip at ten octaves, the table of 256 fractions and the divisions cost less than 1 in 100.
TEST(CrossEntropy, FractionsAreNearTheSoftmax) {
  Draws draws(6);
  for (int round = 0; round < 300; ++round) {
    const auto answers = random_mantissas(10, draws);
    const int exponent = draws.in(-14, 4);
    const Differences d = differences_of(answers, exponent, 9, CrossEntropyForm::fractional);
    double total = 0;
    std::vector<double> powers;
    for (const int each : answers) {
      powers.push_back(std::exp(std::ldexp(static_cast<double>(each), exponent)));
      total += powers.back();
    }
    // The series of second order is off by x³/6 ≤ 1/6 at x = 127·2^-7.
    const double tolerance = exponent == -7 ? 64 : 16;
    for (std::size_t i = 0; i < 9; ++i) {
      if (std::isinf(total)) break;
      EXPECT_NEAR(static_cast<double>(d[i]), 2048 * powers[i] / total, tolerance)
          << "exponent " << exponent << ", class " << i;
    }
  }
}

TEST(CrossEntropy, SmoothingMovesAShareOfTheTargetToEveryClass) {
  const auto smoothed = [](float s, std::int64_t classes) {
    return smoothing_of(std::bit_cast<std::uint32_t>(s), classes);
  };
  EXPECT_EQ(smoothed(0.0F, 10), 0);
  EXPECT_EQ(smoothed(-0.0F, 10), 0);
  EXPECT_EQ(smoothed(0.1F, 10), 20);  // 20.48
  EXPECT_EQ(smoothed(0.5F, 2), 512);
  EXPECT_EQ(smoothed(0.25F, 4096), 0);
  EXPECT_EQ(smoothed(1e-40F, 2), 0);
  EXPECT_EQ(smoothed(0x1.fffffep-1F, 3), 683);
  EXPECT_THAT(differences_of(kAnswers, -5, 0, CrossEntropyForm::fractional, 20),
              ElementsAre(-1832, -9, 41, 1281, -20, 160, 3, 7, -18, 387));
}

TEST(CrossEntropy, EqualAnswersShareEvenly) {
  const std::vector<std::int8_t> answers(4, 77);
  for (const int exponent : {-30, -7, -6, 0, 30}) {
    EXPECT_THAT(differences_of(answers, exponent, 1, CrossEntropyForm::fractional),
                ElementsAre(512, -1536, 512, 512));
  }
}

TEST(CrossEntropy, ThePowersOfTwoAreRounded) {
  const auto table = power_table();
  ASSERT_EQ(table.size(), 256U);
  for (std::size_t j = 0; j < 256; ++j)
    EXPECT_EQ(table[j], std::llround(32768 * std::exp2(static_cast<double>(j) / 256))) << j;
}

TEST(CrossEntropy, ErrorsRoundByThePlaceOfTheImageInTheWholeBatch) {
  Draws draws(8);
  const reference::Block answers = random_block({1, 1, 10}, 20, -5, draws);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 20; ++i) labels.push_back(draws.in(0, 9));
  const OwnBlock own(answers);
  OwnBlock error({1, 1, 10}, 20);
  const RandomKey key{4, 0x80000000u, 12};
  cross_entropy_error(own.tensor(), labels, {}, key, 100, error.tensor());
  const reference::Block got = plain(error.tensor());
  for (std::size_t n = 0; n < 20; ++n) {
    const std::span row(answers.data.data() + n * 10, 10);
    const Differences d = differences_of(row, -5, labels[n], CrossEntropyForm::fractional);
    for (std::size_t c = 0; c < 10; ++c) {
      EXPECT_EQ(got.data[n * 10 + c],
                clamp127(shift_stochastic(d[c], 4, draw32(key, (100 + n) * 10 + c))));
    }
  }
}

TEST(SquaredError, IsTheDifferenceRoundedOnce) {
  // Answers in 2^-5, targets in 2^-16: (32 - 1·2^5, 127, -127, 0) and so on, in 2^-16 times 2^11.
  const reference::Block answers{{1, 1, 4}, 2, -5, {32, 127, -127, 0, 33, 1, 0, -1}};
  const std::int32_t one = 65536;
  const std::vector<std::int32_t> targets = {one, 0, 0, one, one, 32, -5 * one, 1};
  reference::Sums sums;
  for (std::size_t i = 0; i < 8; ++i) sums.push_back(answers.data[i] * 2048 - targets[i]);
  const reference::Block wanted = reference::rounded(sums, answers.picture, 2, -16);
  EXPECT_EQ(wanted.exponent, -4);  // 5·2^16 needs 19 bits, 12 go
  for (const std::string_view backend : {"cpu", "reference"}) {
    Workplace place(backend);
    place.backend->begin({.all_images = 2});
    const Values error = place.empty({1, 1, 4}, 2);
    place.backend->loss(SquaredLoss{targets, place.point()}, place.put(answers), error);
    expect_same(place.get(error), wanted, backend);
  }
}

TEST(SquaredError, HoldsAnyExponent) {
  const std::vector<std::int32_t> targets{INT32_MAX, INT32_MIN};
  for (const int exponent : {-300, -41, -16, 0, 24, 25, 300}) {
    Workplace place;
    place.backend->begin({.all_images = 1});
    const Values answers = place.put({{1, 1, 2}, 1, exponent, {127, -127}});
    const Values error = place.empty({1, 1, 2}, 1);
    place.backend->loss(SquaredLoss{targets, place.point()}, answers, error);
    EXPECT_LE(std::abs(static_cast<int>(place.get(error).data[0])), 127);
  }
}

}  // namespace
}  // namespace nibble::inline backend
