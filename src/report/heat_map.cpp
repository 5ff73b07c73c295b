// SPDX-License-Identifier: Apache-2.0
// A table of coloured cells: a cell says how strong it is, the style sheet what that looks like.
#include "report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/name.h"
#include "nibble/core/error.h"
#include "report/html_page.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr std::size_t kMostNameLetters = 24;
constexpr double kStrong = 0.65;  // from here words are read better in the other colour

std::string name_cell(std::string_view scope, const std::string& name) {
  return fmt::format("<th scope=\"{}\">{}</th>", scope, escaped(shortened(name, kMostNameLetters)));
}

std::string html_cell(const HeatCell& cell) {
  const double strength = std::clamp(cell.strength, 0.0, 1.0);
  std::string html = "<td";
  if (strength > kStrong) html += " class=\"strong\"";
  if (strength > 0) html += fmt::format(" style=\"--strength:{:.0f}%\"", 100 * strength);
  if (!cell.tooltip.empty()) html += fmt::format(" title=\"{}\"", escaped(cell.tooltip));
  return html + ">" + escaped(cell.label) + "</td>";
}

}  // namespace

std::string html_heat_map(const HeatMap& map, const std::vector<HeatCell>& cells) {
  if (cells.size() != map.rows.size() * map.columns.size()) {
    throw Error("heat_map", "cells", std::to_string(cells.size()),
                fmt::format("{} rows times {} columns", map.rows.size(), map.columns.size()));
  }
  std::string html =
      fmt::format("<table class=\"heat{}{}\">\n<caption>{}</caption>\n<tr><td>{}</td>",
                  map.has_turned_columns ? " turned" : "", map.has_small_cells ? " small" : "",
                  escaped(map.title), escaped(map.corner));
  for (const std::string& column : map.columns) html += name_cell("col", column);
  html += "</tr>\n";
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    html += "<tr>" + name_cell("row", map.rows[r]);
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      html += "\n" + html_cell(cells[r * map.columns.size() + c]);
    }
    html += "</tr>\n";
  }
  return html_figure(html + "</table>");
}

}  // namespace nibble::inline report
