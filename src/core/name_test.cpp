// SPDX-License-Identifier: Apache-2.0
#include "core/name.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

TEST(Name, GoodWordsStayAsTheyAre) {
  const std::string_view words = "größe 2⁻¹² → 😀";
  EXPECT_TRUE(is_printable(words));
  EXPECT_EQ(well_formed(words), words);
  EXPECT_EQ(width_of(words), 14u);
  EXPECT_EQ(in_quotes(words), "'größe 2⁻¹² → 😀'");
  EXPECT_NO_THROW(check_name("test", "name", words));
  EXPECT_NO_THROW(check_name("test", "name", ""));
}

TEST(Name, WrongBytesAreReplacedOneByOne) {
  EXPECT_EQ(well_formed("a\xff\xc0\xaf z"), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd z");
  EXPECT_EQ(well_formed("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");  // cut short
  EXPECT_EQ(well_formed("\xed\xa0\x80").size(), 9u);               // a surrogate
  EXPECT_EQ(well_formed("\xf4\x90\x80\x80").size(), 12u);          // beyond Unicode
  EXPECT_EQ(well_formed("\x1b[31m"), "\xef\xbf\xbd[31m");          // a terminal's escape
  EXPECT_EQ(well_formed("\xe2\x80\xae"
                        "x"),
            "\xef\xbf\xbdx");  // right to left
  EXPECT_EQ(well_formed("a\tb\nc"), "a b c");
}

TEST(Name, ControlCharactersAndLongNamesAreRefused) {
  for (const std::string name : {"a\nb", "\x1b[31mcat", "a\tb", "\x7f",
                                 "\xc2\x9b"
                                 "31m",
                                 "\xff", "\xe2\x80\xa8", "\xd8\x9c",
                                 "\xe2\x80\xae"
                                 "x"}) {
    EXPECT_FALSE(is_printable(name));
    EXPECT_EQ(
        error_of([&] { check_name("network", "name", name); }),
        "[network] name: got " + in_quotes(name) + ", expected UTF-8 without control characters");
  }
  EXPECT_NO_THROW(check_name("network", "name", std::string(240, 'x')));
  EXPECT_EQ(error_of([] { check_name("network", "name", std::string(241, 'x')); }),
            "[network] name: got 241 bytes, expected at most 240 (limit 'name': --limits name=… "
            "raises it)");
}

TEST(Name, LongWordsEndInAnEllipsis) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(shortened("äöüßäöü", 3), "äö…");
  EXPECT_EQ(in_quotes(std::string(100'000, 'x')), "'" + std::string(59, 'x') + "…'");
}

TEST(Name, PatternsHaveStarsAndQuestionMarks) {
  EXPECT_TRUE(matches("layer1.*", "layer1.0.conv"));
  EXPECT_TRUE(matches("*conv?", "layer1.conv2"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("conv", "conv1"));
  EXPECT_FALSE(matches("conv?", "conv"));
  EXPECT_FALSE(matches("a*b*c", "abcd"));
}

TEST(Name, AFileNamedAfterSomethingStaysInItsFolder) {
  EXPECT_EQ(file_part("mnist-lenet_1.5"), "mnist-lenet_1.5");
  EXPECT_EQ(file_part("../../etc/x"), "_._.._etc_x");
  EXPECT_EQ(file_part("-rf $(x)"), "_rf___x_");
}

RC_GTEST_PROP(Name, WellFormedWordsArePrintable, (const std::string& words)) {
  RC_ASSERT(is_printable(well_formed(words)));
  RC_ASSERT(is_printable(words) == (well_formed(words) == words));
  RC_ASSERT(is_printable(in_quotes(words)));
}

}  // namespace
}  // namespace nibble::inline core
