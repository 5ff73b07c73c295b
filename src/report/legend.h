// SPDX-License-Identifier: Apache-2.0
// The legend below a chart: as many names in a line as find room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart_theme.h"
#include "report/svg.h"

namespace nibble::inline report {

struct LegendEntry {
  std::string name = {};
  std::string_view colour = {};
  std::string_view dashes = {};
};

// The lines between `left` and `right`; draw_legend starts at `top`.
double legend_height(const std::vector<LegendEntry>& entries, double left, double right);
void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, double left, double right,
                 double top, const ChartTheme& theme);

// About how wide a text of this size is drawn.
double drawn_width(std::string_view words, double size);

}  // namespace nibble::inline report
