// SPDX-License-Identifier: Apache-2.0
// Many small histograms in a table, each an old and a new one over each other, as SVG text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/chart_theme.h"

namespace nibble::inline report {

// Counts over equal bins of [low, high].
struct EqualBins {
  double low = 0;
  double high = 0;
  std::vector<double> counts = {};
};

struct HistogramCell {
  std::optional<EqualBins> before = {};  // grey
  std::optional<EqualBins> after = {};   // in colour
  std::string tooltip = {};
};

struct HistogramGrid {
  std::string title = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  double cell_width = 132;
  double cell_height = 62;
  std::size_t colour = 0;
  ChartTheme theme = {};
};

// Heights are square roots of densities, so that tails show beside a peak.
std::string draw(const HistogramGrid& grid, const std::vector<HistogramCell>& cells);

}  // namespace nibble::inline report
