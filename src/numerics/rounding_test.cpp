// SPDX-License-Identifier: Apache-2.0
// Tests of the names of roundings and overflow rules.
#include "nibble/numerics/rounding.h"

#include <gtest/gtest.h>

#include "nibble/core/error.h"
#include "nibble/numerics/format.h"

namespace nibble::inline numerics {
namespace {

std::string error_of_rounding(std::string_view text) {
  try {
    parse_rounding(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Rounding, EveryNameIsReadAndWrittenAlike) {
  for (const char* name : {"nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd",
                           "stochastic", "stochastic(1)", "stochastic(16)", "stochastic(31)"}) {
    EXPECT_EQ(to_string(parse_rounding(name)), name);
  }
  EXPECT_EQ(to_string(parse_rounding("stochastic(32)")), "stochastic");
  EXPECT_EQ(to_string(Rounding{}), "nearest-even");
}

TEST(Rounding, EveryNameHasItsMode) {
  EXPECT_EQ(parse_rounding("nearest-even").mode, RoundingMode::nearest_even);
  EXPECT_EQ(parse_rounding("nearest-away").mode, RoundingMode::nearest_away);
  EXPECT_EQ(parse_rounding("toward-zero").mode, RoundingMode::toward_zero);
  EXPECT_EQ(parse_rounding("up").mode, RoundingMode::up);
  EXPECT_EQ(parse_rounding("down").mode, RoundingMode::down);
  EXPECT_EQ(parse_rounding("to-odd").mode, RoundingMode::to_odd);
  EXPECT_EQ(parse_rounding("stochastic"), (Rounding{RoundingMode::stochastic, 32}));
  EXPECT_EQ(parse_rounding("stochastic(12)"), (Rounding{RoundingMode::stochastic, 12}));
}

TEST(Rounding, OtherTextsAreRefused) {
  for (const char* text : {"", "nearest", "Nearest-even", " up", "stochastic()", "stochastic(0)",
                           "stochastic(33)", "stochastic(-1)", "stochastic(8", "stochastic(8.0)",
                           "stochastic(99999999999)", "stochastic8", "up(3)"}) {
    EXPECT_THROW(parse_rounding(text), Error) << text;
  }
  EXPECT_EQ(error_of_rounding("stochastic(33)"),
            "[rounding] random bits: got '33', expected 1 to 32");
  EXPECT_EQ(
      error_of_rounding("rne"),
      "[rounding] unknown rounding: got 'rne', expected nearest-even, nearest-away, toward-zero, "
      "up, down, to-odd or stochastic(r)");
}

TEST(Overflow, EveryNameIsReadAndWrittenAlike) {
  for (const char* name : {"native", "saturate", "infinity", "nan"}) {
    EXPECT_EQ(to_string(parse_overflow(name)), name);
  }
  EXPECT_THROW(parse_overflow("inf"), Error);
}

bool is_allowed(std::string_view format, Overflow overflow, Rounding rounding = {}) {
  try {
    check_combination(parse_format(format), rounding, overflow);
  } catch (const Error&) {
    return false;
  }
  return true;
}

TEST(Overflow, NativeAndSaturateFitEveryFormat) {
  for (const NamedFormat& entry : named_formats()) {
    EXPECT_TRUE(is_allowed(entry.name, Overflow::native)) << entry.name;
    EXPECT_TRUE(is_allowed(entry.name, Overflow::saturate)) << entry.name;
  }
}

TEST(Overflow, InfinityAndNanNeedAnElementThatHasThem) {
  EXPECT_TRUE(is_allowed("e5m2", Overflow::infinity));
  EXPECT_TRUE(is_allowed("e5m2", Overflow::nan));
  EXPECT_FALSE(is_allowed("e4m3", Overflow::infinity));
  EXPECT_TRUE(is_allowed("e4m3", Overflow::nan));
  EXPECT_TRUE(is_allowed("p3109(8,3)", Overflow::infinity));
  EXPECT_TRUE(is_allowed("mxfp8-e5m2", Overflow::infinity));
  for (const char* format :
       {"e2m1", "int8", "fixed(8,4)", "nf4", "posit(8,2)", "nvfp4", "mxint8"}) {
    EXPECT_FALSE(is_allowed(format, Overflow::infinity)) << format;
    EXPECT_FALSE(is_allowed(format, Overflow::nan)) << format;
  }
}

TEST(Rounding, RandomBitsAreOneToThirtyTwo) {
  EXPECT_TRUE(is_allowed("e4m3", Overflow::native, {RoundingMode::stochastic, 1}));
  EXPECT_FALSE(is_allowed("e4m3", Overflow::native, {RoundingMode::stochastic, 0}));
  EXPECT_FALSE(is_allowed("e4m3", Overflow::native, {RoundingMode::stochastic, 33}));
}

}  // namespace
}  // namespace nibble::inline numerics
