// SPDX-License-Identifier: Apache-2.0
// Tests of the rescale law.
#include "laws/rescale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "laws/rescale_ties.h"
#include "laws/round_shift.h"
#include "laws/small_rescale.h"

namespace nibble::inline laws {
namespace {

constexpr std::int64_t kFar = (std::int64_t{1} << 62) - 1;

TEST(Rescale, TiesGoAwayFromZero) {
  static_assert(rounded_shift(5, 1) == 3 && rounded_shift(-5, 1) == -3);
  static_assert(rounded_shift(6, 2) == 2 && rounded_shift(-6, 2) == -2);
  static_assert(rounded_shift(5, 2) == 1 && rounded_shift(-5, 2) == -1);
}

TEST(Rescale, NoShiftIsTheIdentity) {
  EXPECT_EQ(rounded_shift(-12345, 0), -12345);
  EXPECT_EQ(rounded_shift(std::numeric_limits<std::int64_t>::min(), 0),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Rescale, TheWholeRangeIsDefined) {
  EXPECT_EQ(rounded_shift(kFar, 62), 1);
  EXPECT_EQ(rounded_shift(-kFar, 62), -1);
  EXPECT_EQ(rounded_shift((kFar >> 1), 62), 0);
  EXPECT_EQ(rounded_shift((kFar >> 1) + 1, 62), 1);
  EXPECT_EQ(rounded_shift(kFar, 1), std::int64_t{1} << 61);
  EXPECT_EQ(rounded_shift(std::numeric_limits<std::int64_t>::min(), 62), -2);
  EXPECT_EQ(rounded_shift(std::numeric_limits<std::int64_t>::max(), 62), 2);
}

TEST(Rescale, ItEqualsTheTruncatedQuotientPlusTheHalf) {
  for (int s = 1; s <= 12; ++s) {
    const std::int64_t unit = std::int64_t{1} << s;
    for (std::int64_t p = -3 * unit; p <= 3 * unit; ++p) {
      const std::int64_t rest = p % unit;
      const std::int64_t up = 2 * (rest < 0 ? -rest : rest) >= unit ? (p < 0 ? -1 : 1) : 0;
      ASSERT_EQ(rounded_shift(p, s), p / unit + up) << p << " >> " << s;
      ASSERT_EQ(shift_nearest(p, s), rounded_shift(p, s));
    }
  }
}

TEST(Rescale, TermsAreRoundedThenAddedThenRoundedAgain) {
  // R(3·3, 1) = 5, R(-7·1, 2) = -2, (5 - 2)·5 = 15, R(15, 2) = 4
  constexpr std::array<RescaleTerm, 2> kTerms = {{{3, 3, 1}, {-7, 1, 2}}};
  static_assert(rescale(kTerms, 5, 2, 0, -128, 127) == 4);
  EXPECT_EQ(rescale(kTerms, 5, 2, 10, -128, 127), 14);
  EXPECT_EQ(rescale(kTerms, -5, 2, 10, -128, 127), 6);
}

TEST(Rescale, TheClampComesAfterTheZero) {
  const std::array<RescaleTerm, 1> term = {{{1000, 1, 0}}};
  EXPECT_EQ(rescale(term, 1, 0, -900, 0, 255), 100);
  EXPECT_EQ(rescale(term, 1, 0, 0, 0, 255), 255);
  EXPECT_EQ(rescale(term, -1, 0, 0, -128, 127), -128);
  EXPECT_EQ(rescale({}, 1, 0, 3, -128, 127), 3);
}

TEST(RoundedShift, OfSmallNumbersIsTheSame) {
  for (int s = 1; s <= 24; ++s) {
    const std::int32_t most = (std::int32_t{1} << s) * 3;
    for (std::int32_t k = 0; k < 4000; ++k) {
      for (const std::int32_t p :
           {k, most - k, (1 << (s - 1)) - k, std::int32_t{2'000'000'000} >> s}) {
        EXPECT_EQ(rounded_shift_of_small(p, s), rounded_shift(p, s)) << p << " " << s;
        EXPECT_EQ(rounded_shift_of_small(-p, s), rounded_shift(-p, s)) << -p << " " << s;
      }
    }
  }
}

TEST(RescaleTies, AreFoundWhereTheyAreAndNowhereElse) {
  for (int s = 0; s <= 9; ++s) {
    for (std::uint64_t m = 0; m <= 40; ++m) {
      bool ties = false;  // of any x so far
      for (std::uint64_t x = 0; x <= 40; ++x) {
        const std::uint64_t step = std::uint64_t{1} << s;
        ties |= s > 0 && x * m % step == step / 2;
        EXPECT_EQ(has_ties(x, m, s), ties) << x << " times " << m << " by 2^" << s;
      }
    }
  }
}

// As kernels have it: 16 bits of x, the upper half of a product of words, its last bits rounded.
std::int64_t rescaled_in_words(std::int64_t x, std::int64_t m, int s) {
  const int more = word_multiplier_shift(s);
  const std::int64_t upper = (std::clamp<std::int64_t>(x, -32768, 32767) * (m << more)) >> 16;
  const int last = s + more - 16;
  return (upper + (std::int64_t{1} << (last - 1))) >> last;
}

TEST(SmallRescales, WordsAreExactWhereTheyFit) {
  int fitting = 0;
  for (int s = 1; s <= 31; ++s) {
    for (const std::int64_t m : {0, 1, 2, 3, 77, 1000, 3641, 16383, 16384, 32767, 32768}) {
      for (const std::int64_t most : {100, 32767, 32768, 50'000, 1'000'000}) {
        const RescaleRange y{0, 15};
        if (!fits_words({-most, most}, std::array{m}, s, y)) continue;
        ++fitting;
        for (std::int64_t x = -most; x <= most; x += std::max<std::int64_t>(1, most / 997)) {
          ASSERT_EQ(std::clamp(rescaled_in_words(x, m, s), y.low, y.high),
                    std::clamp(rounded_shift(x * m, s), y.low, y.high))
              << x << "·" << m << " by 2^" << s;
        }
      }
    }
  }
  EXPECT_GT(fitting, 300);
  EXPECT_FALSE(fits_words({0, 40'000}, std::array{std::int64_t{1}}, 16, {0, 15}));  // is cut
  EXPECT_TRUE(fits_words({0, 40'000}, std::array{std::int64_t{31}}, 16, {0, 15}));
}

// As kernels have it: halves of the total, products of words, the last bits rounded in a word.
std::int64_t rescaled_by_halves(std::int64_t x, std::int64_t a, std::int64_t f, int t,
                                std::int64_t m, int s) {
  const std::int64_t first = std::min<std::int64_t>(f, 32767);
  const std::int64_t half = t == 0 ? 0 : 1LL << (t - 1);
  const std::int64_t z = x + ((a * first + a * (f - first) + half) >> t);
  const std::int64_t factor = m << word_multiplier_shift(s);
  const std::int64_t upper = (((z & 0xFFFF) * factor) >> 16) + (z >> 16) * factor;
  const int last = last_word_shift(s);
  return (std::clamp<std::int64_t>(upper, -32768, 32767) + (1LL << (last - 1))) >> last;
}

TEST(SmallRescales, HalvesAreExactWhereTheyFit) {
  int fitting = 0;
  const RescaleRange y{0, 255};
  for (int s = 1; s <= 24; ++s) {
    for (const std::int64_t m : {0, 1, 2, 3, 77, 3641, 16383, 16384, 32767, 32768}) {
      for (const std::int64_t f : {0, 1, 3, 32767, 32768, 65'534, 65'535}) {
        for (const int t : {0, 1, 10}) {
          const bool fits = fits_halves(std::array{m}, s, y, {0, 255}, std::array{f}, t);
          const bool fits_signed = fits_halves(std::array{m}, s, y, {-128, 127}, std::array{f}, t);
          ASSERT_LE(fits_signed, fits);
          if (!fits) continue;
          ++fitting;
          for (std::int64_t x = -500'000; x <= 500'000; x += 9973) {
            for (const std::int64_t a : {-128, -127, -64, -2, -1, 0, 1, 15, 127, 254, 255}) {
              if (a < 0 && !fits_signed) continue;
              const std::int64_t z = x + rounded_shift(a * f, t);
              ASSERT_EQ(std::clamp(rescaled_by_halves(x, a, f, t, m, s), y.low, y.high),
                        std::clamp(rounded_shift(z * m, s), y.low, y.high))
                  << x << " + " << a << "·" << f << " by 2^" << t << ", ·" << m << " by 2^" << s;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(fitting, 900);
  const auto fits = [](std::int64_t m, int s, RescaleRange to, RescaleRange a, std::int64_t f,
                       int t = 0) {
    return fits_halves(std::array{m}, s, to, a, std::array{f}, t);
  };
  EXPECT_TRUE(fits(16'383, 16, y, {0, 255}, 65'534));
  EXPECT_FALSE(fits(16'384, 16, y, {0, 255}, 65'534));
  EXPECT_FALSE(fits(16'383, 16, y, {0, 255}, 65'535));
  EXPECT_TRUE(fits(0, 16, y, {0, 255}, 65'535));
  EXPECT_TRUE(fits(1, 16, y, {-128, 127}, 1));
  EXPECT_FALSE(fits(1, 16, y, {-128, 127}, 1, 1));  // -1/2
  EXPECT_FALSE(fits(1, 16, y, {-128, 127}, 3, 8));  // -384/256
  EXPECT_TRUE(fits(1, 16, y, {-128, 127}, 3, 9));   // half of 2^9 is no product
  EXPECT_TRUE(fits(0, 16, y, {-128, 127}, 1, 1));
  EXPECT_FALSE(fits(1, 16, {-1, 255}, {0, 255}, 1));
  EXPECT_FALSE(fits(1, 24, y, {0, 255}, 1));
}

}  // namespace
}  // namespace nibble::inline laws
