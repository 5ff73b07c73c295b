// SPDX-License-Identifier: Apache-2.0
// A table of coloured cells.
#include "report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/name.h"
#include "nibble/core/error.h"
#include "report/chart_theme.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr double kLetterSize = 11.5;
constexpr std::size_t kMostRowLetters = 24;
constexpr double kStrong = 0.65;  // from here words are read better in the other colour

double longest(const std::vector<std::string>& names) {
  double width = 0;
  for (const std::string& name : names) {
    width = std::max(width, drawn_width(shortened(name, kMostRowLetters), kLetterSize));
  }
  return width;
}

}  // namespace

std::string draw(const HeatMap& map, const std::vector<HeatCell>& cells) {
  if (cells.size() != map.rows.size() * map.columns.size()) {
    throw Error("heat_map", "cells", std::to_string(cells.size()),
                fmt::format("{} rows times {} columns", map.rows.size(), map.columns.size()));
  }
  const ChartTheme& theme = map.theme;
  const double left = 26 + longest(map.rows) + (map.row_label.empty() ? 0 : 16);
  const double names = map.has_turned_columns ? 0.75 * longest(map.columns) + 14 : 20;
  const double top = 34 + (map.column_label.empty() ? 0 : 16) + names;
  const double right = left + map.cell_width * static_cast<double>(map.columns.size());
  const double bottom = top + map.cell_height * static_cast<double>(map.rows.size());
  // The last slanted name leans over the edge.
  const double lean = map.has_turned_columns ? names : 0;
  const double width = std::max(right + lean, 14 + drawn_width(map.title, 14) * 1.1) + 14;
  Svg svg(width, bottom + 10, map.title, theme.background);
  svg.text(14, 22, map.title, {.size = 14, .colour = theme.ink, .is_bold = true});
  const TextStyle grey{.size = 11, .colour = theme.grey, .anchor = "middle"};
  svg.text((left + right) / 2, 44, map.column_label, grey);
  if (!map.row_label.empty()) {
    svg.text(18, (top + bottom) / 2, map.row_label,
             {.size = 11, .colour = theme.grey, .anchor = "middle", .turn = -90});
  }
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    const double x = left + map.cell_width * (static_cast<double>(c) + 0.5);
    const std::string name = shortened(map.columns[c], kMostRowLetters);
    if (map.has_turned_columns)
      svg.text(x, top - 6, name, {.size = kLetterSize, .colour = theme.ink, .turn = -45});
    else
      svg.text(x, top - 7, name, {.size = kLetterSize, .colour = theme.ink, .anchor = "middle"});
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + map.cell_height * static_cast<double>(r);
    const double base = y + map.cell_height / 2 + 4;
    svg.text(left - 8, base, shortened(map.rows[r], kMostRowLetters),
             {.size = kLetterSize, .colour = theme.ink, .anchor = "end"});
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const HeatCell& cell = cells[r * map.columns.size() + c];
      const double x = left + map.cell_width * static_cast<double>(c);
      const double strength = std::clamp(cell.strength, 0.0, 1.0);
      svg.rectangle(x, y, map.cell_width - 1, map.cell_height - 1, theme.rule, {.opacity = 0.35});
      svg.rectangle(x, y, map.cell_width - 1, map.cell_height - 1, theme.heat,
                    {.tooltip = cell.tooltip, .kind = "cell", .opacity = strength});
      svg.text(x + (map.cell_width - 1) / 2, base, cell.label,
               {.size = 11,
                .colour = strength > kStrong ? theme.on_heat : theme.ink,
                .anchor = "middle"});
    }
  }
  return svg.finish();
}

}  // namespace nibble::inline report
