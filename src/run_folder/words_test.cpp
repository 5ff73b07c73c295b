// SPDX-License-Identifier: Apache-2.0
// Tests that words give back the same bits.
#include "run_folder/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/test_support.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

RC_GTEST_PROP(Words, NumbersComeBackBitForBit, (std::uint64_t bits, std::int64_t integer)) {
  const double number = std::bit_cast<double>(bits);
  RC_PRE(!std::isnan(number));
  Words words;
  put_number(words, "number", number);
  put_integer(words, "integer", integer);
  RC_ASSERT(std::bit_cast<std::uint64_t>(number_word(words, "number")) == bits);
  RC_ASSERT(integer_word(words, "integer") == integer);
}

TEST(Words, SpecialNumbersComeBack) {
  Words words;
  put_number(words, "nan", std::nan(""));
  put_number(words, "inf", -std::numeric_limits<double>::infinity());
  put_number(words, "tiny", std::numeric_limits<double>::denorm_min());
  put_text(words, "text", "a b");
  EXPECT_TRUE(std::isnan(number_word(words, "nan")));
  EXPECT_EQ(number_word(words, "inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_word(words, "tiny"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(text_word(words, "text"), "a b");
}

TEST(Words, ErrorsNameTheWord) {
  const Words words{{"step", "12x"}, {"empty", ""}};
  EXPECT_THAT(error_of([&] { integer_word(words, "epoch"); }),
              HasSubstr("word epoch: got none, expected a value"));
  EXPECT_THAT(error_of([&] { integer_word(words, "step"); }),
              HasSubstr("word step: got '12x', expected an integer"));
  EXPECT_THAT(error_of([&] { number_word(words, "empty"); }), HasSubstr("word empty: got ''"));
}

}  // namespace
}  // namespace nibble::inline run_folder
