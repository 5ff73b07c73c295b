// SPDX-License-Identifier: Apache-2.0
// What charts share: colours, for a file of its own and for a page that is light or dark, and the
// legend.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg.h"

namespace nibble::inline report {

struct ChartTheme {
  std::string_view background = "#ffffff";  // empty: none
  std::string_view ink = "#222222";
  std::string_view grey = "#666666";
  std::string_view rule = "#e2e2e2";
  std::string_view on_heat = "#ffffff";  // words on a strong colour
  // Okabe and Ito's colours, which stay apart for colour-blind eyes, and an olive.
  std::array<std::string_view, 8> series = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#56b4e9", "#b8860b", "#333333", "#7a7a1f"};

  std::string_view colour(std::size_t i) const { return series[i % series.size()]; }
};

// Variables that the style sheet of the HTML report sets.
constexpr ChartTheme kPageTheme = {.background = "",
                                   .ink = "var(--ink)",
                                   .grey = "var(--grey)",
                                   .rule = "var(--rule)",
                                   .on_heat = "var(--on-heat)",
                                   .series = {"var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)",
                                              "var(--s4)", "var(--s5)", "var(--s6)", "var(--s7)"}};

// Of the lines of one colour: solid, then these.
constexpr std::array<std::string_view, 4> kChartDashes = {"", "6 3", "1.5 2.5", "9 3 2 3"};

// The legend below a chart: as many names in a line as find room.
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
