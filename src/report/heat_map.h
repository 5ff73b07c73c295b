// SPDX-License-Identifier: Apache-2.0
// A table of coloured cells, as SVG text: confusion matrices, layers by roles.
#pragma once

#include <string>
#include <vector>

#include "report/chart_theme.h"

namespace nibble::inline report {

struct HeatCell {
  double strength = 0;  // 0 (background) to 1 (full colour)
  std::string label = {};
  std::string tooltip = {};
};

struct HeatMap {
  std::string title = {};
  std::string row_label = {};
  std::string column_label = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  double cell_width = 44;
  double cell_height = 26;
  bool has_turned_columns = false;  // names of columns stand slanted
  ChartTheme theme = {};
};

// `cells` are row by row, as many as rows times columns.
std::string draw(const HeatMap& map, const std::vector<HeatCell>& cells);

}  // namespace nibble::inline report
