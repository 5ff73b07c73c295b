// SPDX-License-Identifier: Apache-2.0
// Tests of heat maps.
#include "report/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;

TEST(HeatMap, EveryCellIsThereWithItsTooltip) {
  const HeatMap map = {.title = "m", .rows = {"a", "b"}, .columns = {"x", "y", "z"}};
  std::vector<HeatCell> cells(6);
  cells[4] = {.strength = 0.5, .label = "7", .tooltip = "b & y"};
  const std::string svg = draw(map, cells);
  EXPECT_EQ(count_of(svg, "class=\"cell\""), 6u);
  EXPECT_THAT(svg, HasSubstr("opacity=\"0.500\"><title>b &amp; y</title>"));
  EXPECT_THAT(svg, HasSubstr(">7</text>"));
}

TEST(HeatMap, WordsOnStrongColourChangeTheirs) {
  const HeatMap map = {.title = "m", .rows = {"a"}, .columns = {"x", "y"}};
  const std::string svg =
      draw(map, {{.strength = 0.2, .label = "weak"}, {.strength = 2, .label = "strong"}});
  EXPECT_THAT(svg, HasSubstr("fill=\"#222222\" text-anchor=\"middle\">weak"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\" text-anchor=\"middle\">strong"));
}

TEST(HeatMap, AWrongNumberOfCellsIsRefused) {
  const HeatMap map = {.title = "m", .rows = {"a"}, .columns = {"x"}};
  EXPECT_EQ(error_of([&] { draw(map, {}); }),
            "[heat_map] cells: got 0, expected 1 rows times 1 columns");
}

}  // namespace
}  // namespace nibble::inline report
