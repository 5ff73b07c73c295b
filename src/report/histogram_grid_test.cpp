// SPDX-License-Identifier: Apache-2.0
// Tests of small histograms.
#include "report/histogram_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;
using testing::Not;

HistogramGrid grid_of(std::vector<std::string> columns) {
  return {.title = "h", .rows = {"conv<1>"}, .columns = std::move(columns)};
}

TEST(HistogramGrid, AbsentCellsStayEmpty) {
  const EqualBins bins = {.low = -1, .high = 1, .counts = {1, 4, 1}};
  const std::string svg =
      draw(grid_of({"weight", "error"}), {{.after = bins, .tooltip = "a&b"}, {}});
  EXPECT_EQ(count_of(svg, "class=\"histogram\""), 1u);
  EXPECT_THAT(svg, HasSubstr("<title>a&amp;b</title>"));
  EXPECT_THAT(svg, HasSubstr(">conv&lt;1&gt;</text>"));
}

TEST(HistogramGrid, OldAndNewShareTheAxis) {
  const EqualBins before = {.low = -4, .high = 1, .counts = {1, 4, 1}};
  const EqualBins after = {.low = -1, .high = 2, .counts = {1, 4, 1}};
  const std::string svg = draw(grid_of({"weight"}), {{.before = before, .after = after}});
  EXPECT_THAT(svg, HasSubstr(">-4</text>"));
  EXPECT_THAT(svg, HasSubstr(">2</text>"));
}

TEST(HistogramGrid, OneValueAloneIsSeen) {
  const EqualBins same = {.low = 0, .high = 0, .counts = {9}};
  const EqualBins nothing = {.low = 0, .high = 1, .counts = {0, 0}};
  const std::string svg =
      draw(grid_of({"weight", "update"}), {{.after = same}, {.after = nothing}});
  EXPECT_EQ(count_of(svg, "class=\"histogram\""), 1u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(HistogramGrid, AWrongNumberOfCellsIsRefused) {
  EXPECT_THAT(error_of([] { draw(grid_of({"weight"}), {}); }), HasSubstr("got 0, expected 1 rows"));
}

}  // namespace
}  // namespace nibble::inline report
