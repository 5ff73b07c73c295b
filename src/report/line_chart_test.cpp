// SPDX-License-Identifier: Apache-2.0
// Tests of curves: which paths there are, and where they go.
#include "report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LineChart, EverySeriesIsOneCurveWithItsNameInTheLegend) {
  const std::string svg = draw(LineChart{.title = "loss", .x_label = "epoch"},
                               {{.name = "a<b", .points = {{1, 2}, {2, 1}}, .colour = 0},
                                {.name = "second", .points = {{1, 3}, {2, 2}}, .colour = 1}});
  EXPECT_EQ(count_of(svg, "class=\"curve\""), 2u);
  EXPECT_THAT(svg, HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(svg, HasSubstr(">second</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>second: epoch 2, 2</title>"));
}

TEST(LineChart, ACurveBreaksWhereAValueIsMissing) {
  const std::string svg =
      draw(LineChart{.title = "t", .has_legend = false},
           {{.name = "a", .points = {{1, 2}, {2, 3}, {3, std::nan("")}, {4, 1}, {5, 2}}}});
  const std::size_t begin = svg.find("M", svg.rfind("<path d=\"", svg.find("class=\"curve\"")));
  const std::string path = svg.substr(begin, svg.find('"', begin) - begin);
  EXPECT_EQ(count_of(path, "M"), 2u) << path;
  EXPECT_EQ(count_of(path, "l"), 2u) << path;
}

TEST(LineChart, ACurveHasDotsWhereTheyStandApart) {
  const ChartSeries short_one = {.name = "short", .points = {{1, 2}, {2, 3}, {3, 2}}};
  const ChartSeries single = {.name = "single", .points = {{1, 1}}};
  const std::string apart = draw(LineChart{.title = "t"}, {short_one, single});
  EXPECT_EQ(count_of(apart, "<circle"), 4u);
  const ChartSeries long_one = {.name = "long", .points = {{1, 1}, {200, 1}}};
  const std::string close = draw(LineChart{.title = "t"}, {short_one, single, long_one});
  EXPECT_THAT(close, Not(HasSubstr("<title>short: ")));
  EXPECT_EQ(count_of(close, "<circle"), 3u);
}

TEST(LineChart, ALogarithmicAxisLeavesOutWhatIsNotPositive) {
  const std::string svg = draw(LineChart{.title = "t", .is_log_y = true},
                               {{.name = "a", .points = {{1, 0.01}, {2, 100}}},
                                {.name = "zero", .points = {{1, 0}, {2, -1}}}});
  EXPECT_EQ(count_of(svg, "class=\"curve\""), 1u);
  EXPECT_THAT(svg, HasSubstr(">0.01</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("zero")));
}

TEST(LineChart, WithoutPointsItSaysSo) {
  EXPECT_THAT(draw(LineChart{.title = "t"}, {}), HasSubstr("nothing to show"));
  EXPECT_THAT(draw(LineChart{.title = "t"}, {{.name = "a", .points = {{1, INFINITY}}}}),
              HasSubstr("nothing to show"));
}

TEST(LineChart, ExtremeValuesMakeNoNonsense) {
  for (const bool is_log : {false, true}) {
    const std::string svg =
        draw(LineChart{.title = "t", .is_log_y = is_log},
             {{.name = "a", .points = {{1, 1e-149}, {2, 1e149}, {3, 1.7e308}}}});
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace nibble::inline report
