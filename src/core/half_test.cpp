// SPDX-License-Identifier: Apache-2.0
// Tests of half and bfloat16: every code, every midpoint and its neighbours.
#include "core/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace nibble::inline core {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  int exponent_bits;
  int fraction_bits;
  float (*decode)(std::uint16_t);
  std::uint16_t (*encode)(float);

  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
};

const Format kHalf{5, 10, float_from_half, half_from_float};
const Format kBfloat{8, 7, float_from_bfloat, bfloat_from_float};

// The value of a non-negative code from the definition of the format, in double. The code of
// infinity gets the value that the next exponent would have, where rounding starts to overflow.
double value_of(const Format& format, std::uint32_t code) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> format.fraction_bits);
  const auto fraction = static_cast<int>(code & ((1u << format.fraction_bits) - 1));
  const int hidden = exponent == 0 ? 0 : 1 << format.fraction_bits;
  return std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - format.fraction_bits);
}

std::vector<double> values_of(const Format& format) {
  std::vector<double> values;
  for (std::uint32_t code = 0; code <= format.infinity(); ++code) {
    values.push_back(value_of(format, code));
  }
  return values;
}

// Nearest code by comparing distances in double, where both are exact; ties go to the even code.
std::uint32_t nearest(const std::vector<double>& values, double x) {
  const auto above = std::lower_bound(values.begin(), values.end(), x);
  if (above == values.end()) return static_cast<std::uint32_t>(values.size() - 1);
  const auto code = static_cast<std::uint32_t>(above - values.begin());
  if (code == 0) return 0;
  const double up = values[code] - x;
  const double down = x - values[code - 1];
  if (up != down) return up < down ? code : code - 1;
  return code % 2 == 0 ? code : code - 1;
}

class SmallFloat : public testing::TestWithParam<Format> {
 protected:
  void check_encode(const std::vector<double>& values, float x) const {
    const Format& format = GetParam();
    const std::uint32_t expected = nearest(values, x);
    ASSERT_EQ(format.encode(x), expected) << x;
    ASSERT_EQ(format.encode(-x), expected | 0x8000u) << -x;
  }
};

TEST_P(SmallFloat, EveryFiniteCodeHasItsValueAndComesBack) {
  const Format& format = GetParam();
  for (std::uint32_t code = 0; code < format.infinity(); ++code) {
    const auto positive = static_cast<std::uint16_t>(code);
    const auto negative = static_cast<std::uint16_t>(code | 0x8000u);
    const double value = value_of(format, code);
    ASSERT_EQ(format.decode(positive), value);
    ASSERT_EQ(format.decode(negative), -value);
    ASSERT_TRUE(std::signbit(format.decode(negative)));
    ASSERT_EQ(format.encode(format.decode(positive)), positive);
    ASSERT_EQ(format.encode(format.decode(negative)), negative);
  }
}

TEST_P(SmallFloat, ValuesMidpointsAndTheirNeighboursGoToTheNearestCode) {
  const std::vector<double> values = values_of(GetParam());
  for (std::size_t code = 0; code + 1 < values.size(); ++code) {
    const double middle = (values[code] + values[code + 1]) / 2;
    for (const double center : {values[code], middle}) {
      const auto x = static_cast<float>(center);
      ASSERT_EQ(x, center);  // one more bit than the format: a float holds it
      check_encode(values, x);
      check_encode(values, std::nextafter(x, kInfinity));
      if (x > 0) check_encode(values, std::nextafter(x, 0.0f));
    }
  }
}

TEST_P(SmallFloat, FloatsOfAllMagnitudesGoToTheNearestCode) {
  const std::vector<double> values = values_of(GetParam());
  for (std::uint32_t bits = 0; bits < 0x7F800000u; bits += 4099) {
    check_encode(values, std::bit_cast<float>(bits));
  }
  check_encode(values, std::numeric_limits<float>::max());
}

TEST_P(SmallFloat, InfinityStaysInfinity) {
  const Format& format = GetParam();
  const auto code = static_cast<std::uint16_t>(format.infinity());
  EXPECT_EQ(format.decode(code), kInfinity);
  EXPECT_EQ(format.decode(static_cast<std::uint16_t>(code | 0x8000u)), -kInfinity);
  EXPECT_EQ(format.encode(kInfinity), code);
  EXPECT_EQ(format.encode(-kInfinity), code | 0x8000u);
}

TEST_P(SmallFloat, EveryNanComesBackQuietWithItsPayload) {
  const Format& format = GetParam();
  const std::uint32_t quiet = 1u << (format.fraction_bits - 1);
  for (std::uint32_t code = format.infinity() + 1; code < 0x8000u; ++code) {
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const auto nan = static_cast<std::uint16_t>(code | sign);
      ASSERT_TRUE(std::isnan(format.decode(nan)));
      ASSERT_EQ(format.encode(format.decode(nan)), nan | quiet);
    }
  }
}

TEST_P(SmallFloat, ANanWhosePayloadIsCutOffStaysANan) {
  const Format& format = GetParam();
  const std::uint32_t quiet = 1u << (format.fraction_bits - 1);
  EXPECT_EQ(format.encode(std::bit_cast<float>(0x7F800001u)), format.infinity() | quiet);
  EXPECT_EQ(format.encode(std::bit_cast<float>(0xFF800001u)), 0x8000u | format.infinity() | quiet);
  EXPECT_EQ(format.encode(std::bit_cast<float>(0x7FFFFFFFu)), 0x7FFFu);
}

INSTANTIATE_TEST_SUITE_P(Half, SmallFloat, testing::Values(kHalf));
INSTANTIATE_TEST_SUITE_P(Bfloat, SmallFloat, testing::Values(kBfloat));

TEST(Half, OverflowStartsHalfwayPastTheLargestValue) {
  EXPECT_EQ(half_from_float(65504.0f), 0x7BFFu);
  EXPECT_EQ(half_from_float(std::nextafter(65520.0f, 0.0f)), 0x7BFFu);
  EXPECT_EQ(half_from_float(65520.0f), 0x7C00u);
}

TEST(Half, ASignalingNanDecodesToAQuietOne) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(float_from_half(0x7C01u)), 0x7FC02000u);
}

}  // namespace
}  // namespace nibble::inline core
