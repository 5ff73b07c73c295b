// SPDX-License-Identifier: Apache-2.0
// Many small histograms in a table.
#include "report/histogram_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/name.h"
#include "nibble/core/error.h"
#include "report/axis.h"
#include "report/chart_theme.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr double kFirstRow = 62;
constexpr double kGap = 14;
constexpr double kLabels = 16;  // below a cell
constexpr std::size_t kMostTitleLetters = 24;

std::string ends_label(double value) {
  return value == 0 ? "0" : fmt::format("{:.2g}", value);
}

// Where all values are equal the bin gets a width, so that it can be seen.
EqualBins visible(EqualBins bins) {
  if (bins.high > bins.low) return bins;
  const double room = bins.low == 0 ? 1 : std::abs(bins.low) * 0.1;
  const double total = std::accumulate(bins.counts.begin(), bins.counts.end(), 0.0);
  return {
      .low = bins.low - room, .high = bins.low + room, .counts = {0, 0, 0, 0, total, 0, 0, 0, 0}};
}

std::vector<double> heights_of(const EqualBins& bins) {
  const double total = std::accumulate(bins.counts.begin(), bins.counts.end(), 0.0);
  const double width = (bins.high - bins.low) / static_cast<double>(bins.counts.size());
  std::vector<double> heights;
  for (const double count : bins.counts) {
    heights.push_back(total > 0 ? std::sqrt(count / (total * width)) : 0);
  }
  return heights;
}

class CellDrawing {
 public:
  CellDrawing(Svg& svg, const HistogramGrid& grid, double left, double top)
      : svg_(svg), grid_(grid), left_(left), bottom_(top + grid.cell_height) {}

  void draw(const HistogramCell& cell) {
    std::vector<EqualBins> both;
    for (const auto* bins : {&cell.before, &cell.after}) {
      if (*bins && !(*bins)->counts.empty()) both.push_back(visible(**bins));
    }
    if (both.empty()) return;
    low_ = std::ranges::min(both, {}, &EqualBins::low).low;
    high_ = std::ranges::max(both, {}, &EqualBins::high).high;
    for (const EqualBins& bins : both) most_ = std::max(most_, std::ranges::max(heights_of(bins)));
    if (!(high_ > low_) || !std::isfinite(high_ - low_) || !(most_ > 0)) return;

    const ChartTheme& theme = grid_.theme;
    if (low_ < 0 && high_ > 0) {
      svg_.line(x_of(0), bottom_ - grid_.cell_height, x_of(0), bottom_, theme.rule);
    }
    const std::string_view colour = theme.colour(grid_.colour);
    const bool has_both = both.size() == 2;
    if (has_both) svg_.shape(outline(both.front()), theme.grey, {.opacity = 0.3});
    const bool is_new = cell.after.has_value();
    svg_.shape(outline(both.back()), is_new ? colour : theme.grey, {.opacity = 0.3});
    svg_.curve(outline(both.back()), is_new ? colour : theme.grey, 1.2, "", {.kind = "histogram"});
    svg_.line(left_, bottom_, left_ + grid_.cell_width, bottom_, theme.grey);
    const TextStyle small{.size = 9.5, .colour = theme.grey};
    svg_.text(left_, bottom_ + 11, ends_label(low_), small);
    svg_.text(left_ + grid_.cell_width, bottom_ + 11, ends_label(high_),
              {.size = 9.5, .colour = theme.grey, .anchor = "end"});
    // Over everything, so that the pointer finds it anywhere in the cell.
    svg_.rectangle(left_, bottom_ - grid_.cell_height, grid_.cell_width, grid_.cell_height,
                   "transparent", {.tooltip = cell.tooltip});
  }

 private:
  double x_of(double value) const {
    return left_ + (value - low_) / (high_ - low_) * grid_.cell_width;
  }

  // Steps from the base line and back to it; runs of equal height are one step.
  std::string outline(const EqualBins& bins) const {
    const std::vector<double> heights = heights_of(bins);
    const double step = (bins.high - bins.low) / static_cast<double>(heights.size());
    std::string path = fmt::format("M{:.1f} {:.1f}", x_of(bins.low), bottom_);
    for (std::size_t i = 0; i < heights.size(); ++i) {
      const bool is_new = i == 0 || heights[i] != heights[i - 1];
      const bool is_last = i + 1 == heights.size() || heights[i + 1] != heights[i];
      if (is_new)
        path += fmt::format("V{:.1f}", bottom_ - heights[i] / most_ * (grid_.cell_height - 3));
      if (is_last)
        path += fmt::format("H{:.1f}", x_of(bins.low + step * static_cast<double>(i + 1)));
    }
    return path + fmt::format("V{:.1f}z", bottom_);
  }

  Svg& svg_;
  const HistogramGrid& grid_;
  double left_;
  double bottom_;
  double low_ = 0;
  double high_ = 0;
  double most_ = 0;
};

}  // namespace

std::string draw(const HistogramGrid& grid, const std::vector<HistogramCell>& cells) {
  if (cells.size() != grid.rows.size() * grid.columns.size()) {
    throw Error("histogram_grid", "cells", std::to_string(cells.size()),
                fmt::format("{} rows times {} columns", grid.rows.size(), grid.columns.size()));
  }
  const ChartTheme& theme = grid.theme;
  double names = 0;
  for (const std::string& row : grid.rows) {
    names = std::max(names, drawn_width(shortened(row, kMostTitleLetters), 11.5));
  }
  const double left = names + 28;
  const double width = grid.cell_width + kGap;
  const double height = grid.cell_height + kLabels + kGap;
  Svg svg(std::max(left + width * static_cast<double>(grid.columns.size()),
                   20 + drawn_width(grid.title, 15)),
          kFirstRow + height * static_cast<double>(grid.rows.size()), grid.title, theme.background);
  svg.text(14, 22, grid.title, {.size = 14, .colour = theme.ink, .is_bold = true});
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    svg.text(left + width * static_cast<double>(c) + grid.cell_width / 2, kFirstRow - 14,
             grid.columns[c],
             {.size = 12, .colour = theme.ink, .anchor = "middle", .is_bold = true});
  }
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    const double top = kFirstRow + height * static_cast<double>(r);
    svg.text(left - 12, top + grid.cell_height / 2 + 4, shortened(grid.rows[r], kMostTitleLetters),
             {.size = 11.5, .colour = theme.ink, .anchor = "end"});
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      CellDrawing(svg, grid, left + width * static_cast<double>(c), top)
          .draw(cells[r * grid.columns.size() + c]);
    }
  }
  return svg.finish();
}

}  // namespace nibble::inline report
