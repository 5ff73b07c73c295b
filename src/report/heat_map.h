// SPDX-License-Identifier: Apache-2.0
// A table of coloured cells, as HTML: confusion matrices, layers by roles.
#pragma once

#include <string>
#include <vector>

namespace nibble::inline report {

struct HeatCell {
  double strength = 0;  // 0 (background) to 1 (full colour)
  std::string label = {};
  std::string tooltip = {};
};

struct HeatMap {
  std::string title = {};
  std::string corner = {};  // what rows and columns are
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  bool has_turned_columns = false;  // names of columns stand upright
  bool has_small_cells = false;     // too small for labels
};

// `cells` are row by row, as many as rows times columns. The style sheet of the page draws them.
std::string html_heat_map(const HeatMap& map, const std::vector<HeatCell>& cells);

}  // namespace nibble::inline report
