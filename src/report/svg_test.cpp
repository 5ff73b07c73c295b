// SPDX-License-Identifier: Apache-2.0
// Tests of drawings as text, and of words made harmless in pages.
#include "report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/name.h"
#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, HostileWordsStayWords) {
  Svg svg(10, 10, "</title><script>");
  svg.text(1, 1, "<a>&\x01");
  svg.circle(1, 1, 1, "#000", {.tooltip = "<b>", .kind = "x\" onload=\"y"});
  const std::string text = svg.finish();
  EXPECT_THAT(text, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;</title>"));
  EXPECT_THAT(text, HasSubstr(">&lt;a&gt;&amp;\xef\xbf\xbd</text>"));
  EXPECT_THAT(text, HasSubstr("<title>&lt;b&gt;</title></circle>"));
  EXPECT_THAT(text, Not(HasSubstr("\" onload=\"")));
}

TEST(Svg, ABackgroundIsThereUnlessItIsEmpty) {
  EXPECT_THAT(Svg(30, 20, "a").finish(),
              HasSubstr("width=\"30.0\" height=\"20.0\" fill=\"#ffffff\""));
  EXPECT_THAT(Svg(30, 20, "a", "").finish(), Not(HasSubstr("<rect")));
}

TEST(Svg, MarksCarryOnlyWhatTheyNeed) {
  Svg svg(10, 10, "a", "");
  svg.rectangle(1, 2, 3, 4, "red");
  svg.rectangle(1, 2, 3, 4, "red", {.opacity = 0.25});
  svg.curve("M0 0H1", "blue", 2, "7 3", {.kind = "curve"});
  const std::string text = svg.finish();
  EXPECT_THAT(text, HasSubstr("height=\"4.0\" fill=\"red\"/>"));
  EXPECT_THAT(text, HasSubstr("fill=\"red\" opacity=\"0.250\"/>"));
  EXPECT_THAT(text, HasSubstr("stroke-dasharray=\"7 3\" class=\"curve\"/>"));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

TEST(SvgPath, PointsAreToldByTheirDistances) {
  SvgPath path;
  path.move_to(1, 2.04);
  path.line_to(1.96, 1.5);
  path.line_to(0.96, 1.5);
  path.line_to(1.5, 3);
  path.move_to(-1, -2);
  path.line_to(-1, 12.34);
  EXPECT_EQ(path.data(), "M1 2l1-0.5-1 0 0.5 1.5M-1-2l0 14.3");
}

TEST(SvgPath, RoundingsDoNotAddUp) {
  SvgPath path;
  path.move_to(0, 0);
  for (int i = 1; i <= 100; ++i) path.line_to(0.04 * i, 0);
  EXPECT_EQ(count_of(path.data(), "0.1 0"), 40u);
}

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
}

RC_GTEST_PROP(Escape, NoMarkupSurvivesAndAllIsWellFormed, (const std::string& words)) {
  const std::string result = escaped(words);
  RC_ASSERT(result.find_first_of("<>\"'\n") == std::string::npos);
  RC_ASSERT(well_formed(result) == result);
}

}  // namespace
}  // namespace nibble::inline report
