// SPDX-License-Identifier: Apache-2.0
// Tests of bars.
#include "report/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;

TEST(BarChart, EveryFiniteValueIsABar) {
  const BarChart chart = {.title = "b", .x_label = "%", .series = {"r<1>", "r2"}};
  const std::string svg =
      draw(chart, {{.name = "cat", .values = {50, 25}}, {.name = "dog", .values = {NAN, 100}}});
  EXPECT_EQ(count_of(svg, "class=\"bar\""), 3u);
  EXPECT_THAT(svg, HasSubstr("<title>cat, r&lt;1&gt;: 50</title>"));
}

TEST(BarChart, LengthsAreProportional) {
  const std::string svg = draw(BarChart{.title = "b", .series = {"s"}, .has_legend = false},
                               {{.name = "a", .values = {100}}, {.name = "b", .values = {50}}});
  std::vector<double> widths;
  for (std::size_t at = svg.find("class=\"bar\""); at != svg.npos;
       at = svg.find("class=\"bar\"", at + 1)) {
    const std::size_t begin = svg.rfind("width=\"", at) + 7;
    widths.push_back(std::stod(svg.substr(begin)));
  }
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(widths[0], 2 * widths[1], 0.2);
}

TEST(BarChart, NothingIsDrawnOfNothing) {
  EXPECT_EQ(count_of(draw(BarChart{.title = "b"}, {}), "class=\"bar\""), 0u);
}

}  // namespace
}  // namespace nibble::inline report
