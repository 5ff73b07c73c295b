// SPDX-License-Identifier: Apache-2.0
// For tests: neighbouring numbers of an element and what each rounding has to make of a value
// between.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "nibble/numerics/element.h"

namespace nibble::inline numerics {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline constexpr std::array<RoundingMode, 6> kExactModes = {
    RoundingMode::nearest_even, RoundingMode::nearest_away, RoundingMode::toward_zero,
    RoundingMode::up,           RoundingMode::down,         RoundingMode::to_odd};

// A number on the line. `result` differs from `value` beyond the largest one, where overflow
// starts.
struct LinePoint {
  double value = 0;
  std::uint32_t code = 0;
  double result = 0;
};

// Two neighbours and where nearest turns from one to the other.
struct Gap {
  LinePoint low;
  LinePoint high;
  double middle = 0;
};

// What x, strictly inside the gap, has to become.
inline double expected_result(const Gap& gap, double x, RoundingMode mode) {
  const bool low_is_toward = std::fabs(gap.low.value) <= std::fabs(gap.high.value);
  const LinePoint& toward = low_is_toward ? gap.low : gap.high;
  const LinePoint& away = low_is_toward ? gap.high : gap.low;
  const bool has_odd = gap.low.code % 2 != gap.high.code % 2;
  switch (mode) {
    case RoundingMode::nearest_even:
      if (x != gap.middle) return x < gap.middle ? gap.low.result : gap.high.result;
      return has_odd && toward.code % 2 == 1 ? away.result : toward.result;
    case RoundingMode::nearest_away:
      if (x != gap.middle) return x < gap.middle ? gap.low.result : gap.high.result;
      return away.result;
    case RoundingMode::toward_zero:
      return toward.result;
    case RoundingMode::up:
      return gap.high.result;
    case RoundingMode::down:
      return gap.low.result;
    case RoundingMode::to_odd:
      return has_odd && toward.code % 2 == 1 ? toward.result : away.result;
    case RoundingMode::stochastic:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// The middle and the ends of a gap with their double and float neighbours, as far as they lie
// inside.
inline std::vector<double> values_inside(const Gap& gap) {
  std::vector<double> values;
  const auto add = [&](double x) {
    if (x > gap.low.value && x < gap.high.value) values.push_back(x);
  };
  for (const double center : {gap.low.value, gap.middle, gap.high.value}) {
    add(center);
    add(std::nextafter(center, kInfinity));
    add(std::nextafter(center, -kInfinity));
    const auto single = static_cast<float>(center);
    add(static_cast<double>(std::nextafter(single, std::numeric_limits<float>::infinity())));
    add(static_cast<double>(std::nextafter(single, -std::numeric_limits<float>::infinity())));
  }
  return values;
}

inline bool is_same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Every exact rounding of the values around the gap's middle and ends is the expected one.
inline testing::AssertionResult gap_rounds_as_expected(const Element& element, const Gap& gap,
                                                       Overflow overflow = Overflow::native) {
  for (const double x : values_inside(gap)) {
    for (const RoundingMode mode : kExactModes) {
      const double expected = expected_result(gap, x, mode);
      const double got = round_to(element, x, {mode}, overflow);
      // The sign of a zero has its own tests.
      if (got != expected && !(std::isnan(got) && std::isnan(expected))) {
        return testing::AssertionFailure() << std::hexfloat << x << " " << to_string(Rounding{mode})
                                           << ": got " << got << ", expected " << expected;
      }
    }
  }
  return testing::AssertionSuccess();
}

// The value stays where it is whatever the rounding, and its code comes back.
inline testing::AssertionResult stays(const Element& element, double value, std::uint32_t code) {
  if (!is_same(decode_code(element, code), value)) {
    return testing::AssertionFailure()
           << "code " << code << " decodes to " << decode_code(element, code) << ", not " << value;
  }
  if (encode_value(element, value) != code) {
    return testing::AssertionFailure()
           << value << " encodes to " << encode_value(element, value) << ", not " << code;
  }
  for (const RoundingMode mode : kExactModes) {
    if (!is_same(round_to(element, value, {mode}), value)) {
      return testing::AssertionFailure() << value << " moves under " << to_string(Rounding{mode});
    }
  }
  for (const std::uint32_t draw : {0U, 0xFFFFU}) {
    const Rounding stochastic{RoundingMode::stochastic, 16};
    if (!is_same(round_to(element, value, stochastic, Overflow::native, draw), value)) {
      return testing::AssertionFailure() << value << " moves under " << to_string(stochastic);
    }
  }
  return testing::AssertionSuccess();
}

// How many of all 2^r draws take x away from `stay`.
inline std::uint32_t draws_that_move(const Element& element, double x, double stay,
                                     int random_bits) {
  std::uint32_t count = 0;
  for (std::uint32_t draw = 0; draw < 1U << random_bits; ++draw) {
    const Rounding rounding{RoundingMode::stochastic, random_bits};
    if (round_to(element, x, rounding, Overflow::native, draw) != stay) ++count;
  }
  return count;
}

}  // namespace nibble::inline numerics
