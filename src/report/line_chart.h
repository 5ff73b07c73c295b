// SPDX-License-Identifier: Apache-2.0
// Curves over a common pair of axes, as SVG text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart_theme.h"

namespace nibble::inline report {

struct ChartPoint {
  double x = 0;
  double y = 0;  // where it is not finite (or not positive on a logarithmic axis) the curve breaks
};

struct ChartSeries {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  std::size_t colour = 0;  // of the theme
  std::string_view dashes = {};
};

struct LineChart {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  double width = 460;
  double height = 290;  // of axes and title; a legend comes below
  bool is_log_x = false;
  bool is_log_y = false;
  bool has_whole_x = false;  // epochs, bits: no tick between whole numbers
  bool has_whole_y = false;  // shifts
  bool has_legend = true;
  ChartTheme theme = {};
};

// A series without a point that can be drawn is left out; without any, the chart says so.
std::string draw(const LineChart& chart, const std::vector<ChartSeries>& series);

}  // namespace nibble::inline report
