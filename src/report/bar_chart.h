// SPDX-License-Identifier: Apache-2.0
// Horizontal bars, one group a name, one bar a series, as SVG text.
#pragma once

#include <string>
#include <vector>

#include "report/chart_theme.h"

namespace nibble::inline report {

struct BarChart {
  std::string title = {};
  std::string x_label = {};
  std::vector<std::string> series = {};  // their names; the colour is their place
  double width = 460;
  bool has_legend = true;
  ChartTheme theme = {};
};

struct BarGroup {
  std::string name = {};
  std::vector<double> values = {};  // one a series; what is not finite has no bar
};

// The axis starts at zero, or at the smallest value below it.
std::string draw(const BarChart& chart, const std::vector<BarGroup>& groups);

}  // namespace nibble::inline report
