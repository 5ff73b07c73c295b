// SPDX-License-Identifier: Apache-2.0
// Tests of words made harmless.
#include "report/escape.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace nibble {
namespace {

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
}

TEST(Escape, GoodWordsStayAsTheyAre) {
  const std::string_view words = "größe 2⁻¹² → 😀";
  EXPECT_EQ(well_formed(words), words);
  EXPECT_EQ(width_of(words), 14u);
}

TEST(Escape, WrongBytesAreReplacedOneByOne) {
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

TEST(Escape, LongNamesEndInAnEllipsis) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(shortened("äöüßäöü", 3), "äö…");
}

RC_GTEST_PROP(Escape, NoMarkupSurvivesAndAllIsWellFormed, (const std::string& words)) {
  const std::string result = escaped(words);
  RC_ASSERT(result.find_first_of("<>\"'\n") == std::string::npos);
  RC_ASSERT(well_formed(result) == result);
}

}  // namespace
}  // namespace nibble
