// SPDX-License-Identifier: Apache-2.0
// Tests of heat maps.
#include "report/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html_style.h"
#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::HasSubstr;

TEST(HeatMap, EveryCellIsThereWithItsTooltip) {
  const HeatMap map = {.title = "m", .rows = {"a", "b"}, .columns = {"x", "y", "z"}};
  std::vector<HeatCell> cells(6);
  cells[4] = {.strength = 0.5, .label = "7", .tooltip = "b & y"};
  const std::string html = html_heat_map(map, cells);
  EXPECT_THAT(html, HasSubstr("<tr><th scope=\"row\">a</th>\n<td></td>\n<td></td>\n<td></td></tr>\n"
                              "<tr><th scope=\"row\">b</th>\n<td></td>\n"
                              "<td style=\"--strength:50%\" title=\"b &amp; y\">7</td>\n"
                              "<td></td></tr>\n"));
}

// So that a screen reader says of a cell where it stands.
TEST(HeatMap, HasATitleAndNamesOfRowsAndColumns) {
  const HeatMap map = {.title = "a<b", .corner = "row, column", .rows = {"r&"}, .columns = {"c\""}};
  const std::string html = html_heat_map(map, {{}});
  EXPECT_THAT(html, HasSubstr("<caption>a&lt;b</caption>\n<tr><td>row, column</td>"
                              "<th scope=\"col\">c&quot;</th></tr>\n"
                              "<tr><th scope=\"row\">r&amp;</th>"));
}

TEST(HeatMap, WordsOnStrongColourChangeTheirs) {
  const HeatMap map = {.title = "m", .rows = {"a"}, .columns = {"x", "y"}};
  const std::string html =
      html_heat_map(map, {{.strength = 0.65, .label = "weak"}, {.strength = 2, .label = "strong"}});
  EXPECT_THAT(html, HasSubstr("<td style=\"--strength:65%\">weak"));
  EXPECT_THAT(html, HasSubstr("<td class=\"strong\" style=\"--strength:100%\">strong"));
}

TEST(HeatMap, TheStyleSheetKnowsItsKinds) {
  HeatMap map = {.title = "m", .rows = {"a"}, .columns = {"x"}};
  EXPECT_THAT(html_heat_map(map, {{}}), HasSubstr("<table class=\"heat\">"));
  map.has_turned_columns = map.has_small_cells = true;
  EXPECT_THAT(html_heat_map(map, {{}}), HasSubstr("<table class=\"heat turned small\">"));
  for (const char* kind : {".heat.turned ", ".heat.small ", ".heat .strong ", "--strength, 0%"}) {
    EXPECT_THAT(kHtmlStyle, HasSubstr(kind));
  }
}

TEST(HeatMap, ACellIsShort) {
  const std::size_t classes = 10;
  HeatMap map = {.title = "m"};
  for (std::size_t i = 0; i < classes; ++i) map.rows.push_back(std::to_string(i));
  map.columns = map.rows;
  const HeatCell cell = {.strength = 0.98, .label = "953"};
  const std::string html = html_heat_map(map, std::vector(classes * classes, cell));
  EXPECT_LT(html.size(), 64 * classes * classes);
}

TEST(HeatMap, AWrongNumberOfCellsIsRefused) {
  const HeatMap map = {.title = "m", .rows = {"a"}, .columns = {"x"}};
  EXPECT_EQ(error_of([&] { html_heat_map(map, {}); }),
            "[heat_map] cells: got 0, expected 1 rows times 1 columns");
}

}  // namespace
}  // namespace nibble::inline report
