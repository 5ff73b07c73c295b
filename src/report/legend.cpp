// SPDX-License-Identifier: Apache-2.0
// The legend below a chart.
#include "report/chart_theme.h"

#include "core/name.h"

namespace nibble::inline report {
namespace {

constexpr double kSize = 11.5;
constexpr double kLine = 18;
constexpr double kSwatch = 24;
constexpr std::size_t kMostLegendLetters = 36;

struct LegendPlace {
  double x = 0;
  double y = 0;
};

// Where each entry starts, and one more for the end.
std::vector<LegendPlace> places(const std::vector<LegendEntry>& entries, double left,
                                double right) {
  std::vector<LegendPlace> list;
  double x = left;
  double y = 0;
  for (const LegendEntry& entry : entries) {
    const double width =
        kSwatch + 6 + drawn_width(shortened(entry.name, kMostLegendLetters), kSize) + 16;
    if (x > left && x + width > right) {
      x = left;
      y += kLine;
    }
    list.push_back({.x = x, .y = y});
    x += width;
  }
  list.push_back({.x = x, .y = y});
  return list;
}

}  // namespace

double drawn_width(std::string_view words, double size) {
  return 0.55 * size * static_cast<double>(width_of(words));
}

double legend_height(const std::vector<LegendEntry>& entries, double left, double right) {
  return entries.empty() ? 0 : places(entries, left, right).back().y + kLine + 6;
}

void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, double left, double right,
                 double top, const ChartTheme& theme) {
  const std::vector<LegendPlace> list = places(entries, left, right);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const double y = top + list[i].y + 12;
    const double x = list[i].x;
    svg.line(x, y - 4, x + kSwatch, y - 4, entries[i].colour, 2.5, entries[i].dashes);
    svg.text(x + kSwatch + 6, y, shortened(entries[i].name, kMostLegendLetters),
             {.size = kSize, .colour = theme.ink});
  }
}

}  // namespace nibble::inline report
