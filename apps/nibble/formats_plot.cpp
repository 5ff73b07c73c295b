// SPDX-License-Identifier: Apache-2.0
// nibble formats --plot: the numbers of formats, and how close they come to others, as a picture.
#include "apps/nibble/formats_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "apps/nibble/format_samples.h"
#include "core/text_file.h"
#include "report/svg.h"

namespace nibble {
namespace {

const std::vector<std::string> kPlottedChoice = {
    "e2m1", "e4m3", "e5m2", "int4", "fixed(8,4)", "posit(8,1)", "mxfp4", "nvfp4", "nf4"};

constexpr double kWidth = 900;
constexpr double kLeft = 24;
constexpr double kRight = kWidth - 24;
constexpr double kAxisLeft = 262;  // of the values; names stand before it
constexpr double kRowHeight = 24;
constexpr double kChartLeft = 56;
constexpr double kChartRight = 652;  // the legend stands behind it
constexpr double kChartHeight = 300;
constexpr std::size_t kMostLetters = 27;

constexpr std::string_view kInk = "#222222";
constexpr std::string_view kGrey = "#666666";
constexpr std::string_view kRule = "#e2e2e2";

// Okabe and Ito's colours, which stay apart for colour-blind eyes.
struct Family {
  std::string_view title;
  std::string_view colour;
};
constexpr std::array<Family, 5> kFamilies = {{{"floats", "#0072b2"},
                                              {"integers, fixed point", "#d55e00"},
                                              {"posits", "#009e73"},
                                              {"scale from the data", "#333333"},
                                              {"codebooks", "#cc79a7"}}};
constexpr std::array<std::string_view, 6> kDashes = {"",        "7 3",  "2 2.5",
                                                     "9 3 2 3", "14 4", "9 3 2 3 2 3"};

constexpr std::array kMagnitudes = {"2⁻¹²", "2⁻⁸", "2⁻⁴", "1", "2⁴", "2⁸", "2¹²"};
static_assert(kLowestExponent == -12 && kHighestExponent == 12);
constexpr std::array kValueLabels = {"−8", "−6", "−4", "−2", "0", "2", "4", "6", "8"};
static_assert(kValueLimit == 8);

struct PlottedRow {
  std::string name;
  Format format;
  std::size_t family = 0;
  std::string_view dashes;
};

std::size_t family_of(const Format& format) {
  if (std::holds_alternative<CodebookElement>(format.element)) return 4;
  if (has_scale_from_data(format)) return 3;
  return format.element.index();  // float, grid, posit
}

std::string shortened(const std::string& name) {
  return name.size() <= kMostLetters ? name : name.substr(0, kMostLetters - 1) + "…";
}

std::vector<PlottedRow> rows_of(const std::vector<std::string>& names) {
  std::vector<PlottedRow> rows;
  std::array<std::size_t, kFamilies.size()> seen{};
  for (const std::string& name : names) {
    const Format format = parse_format(name);
    const std::size_t family = family_of(format);
    rows.push_back({.name = shortened(name),
                    .format = format,
                    .family = family,
                    .dashes = kDashes[seen[family]++ % kDashes.size()]});
  }
  return rows;
}

// Ticks a pixel wide; where they touch they become one block.
std::string ticks(const std::vector<double>& values, double y) {
  constexpr double kUnit = (kRight - kAxisLeft) / (2 * kValueLimit);
  std::string path;
  double begin = 0;
  double end = -1;
  const auto close = [&] {
    if (end < begin) return;
    path += fmt::format("M{:.1f} {:.1f}H{:.1f}v{}H{:.1f}z", begin, y, end, kRowHeight - 10, begin);
  };
  for (const double value : values) {
    const double x = kAxisLeft + (value + kValueLimit) * kUnit;
    if (end < begin || x - 0.5 > end) {
      close();
      begin = x - 0.5;
    }
    end = x + 0.5;
  }
  close();
  return path;
}

void draw_values(Svg& svg, const std::vector<PlottedRow>& rows, double top) {
  const double bottom = top + kRowHeight * static_cast<double>(rows.size());
  constexpr double kStep = (kRight - kAxisLeft) / (kValueLabels.size() - 1);
  for (std::size_t i = 0; i < kValueLabels.size(); ++i) {
    const double x = kAxisLeft + kStep * static_cast<double>(i);
    svg.line(x, top, x, bottom, kRule);
    svg.text(x, bottom + 16, kValueLabels[i], {.size = 12, .colour = kGrey, .anchor = "middle"});
  }
  double y = top;
  for (const PlottedRow& row : rows) {
    svg.text(kLeft, y + 17, row.name, {.size = 12});
    svg.text(kAxisLeft - 14, y + 17, fmt::format("{} bits", describe(row.format.element).code_bits),
             {.size = 12, .colour = kGrey, .anchor = "end"});
    svg.shape(ticks(values_within_limit(row.format), y + 5), kFamilies[row.family].colour);
    y += kRowHeight;
  }
}

void draw_families(Svg& svg, const std::vector<PlottedRow>& rows, double y) {
  double x = kLeft;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    const auto is_it = [&](const PlottedRow& row) { return row.family == i; };
    if (std::ranges::none_of(rows, is_it)) continue;
    svg.rectangle(x, y - 10, 11, 11, kFamilies[i].colour);
    svg.text(x + 17, y, kFamilies[i].title, {.colour = kGrey});
    x += 40 + 6.6 * static_cast<double>(kFamilies[i].title.size());
  }
}

void draw_precision(Svg& svg, const std::vector<PlottedRow>& rows, double top) {
  const double bottom = top + kChartHeight;
  std::vector<std::vector<PrecisionPoint>> curves;
  double most = 24;
  for (const PlottedRow& row : rows) {
    curves.push_back(precision_by_magnitude(row.format));
    for (const PrecisionPoint& point : curves.back()) most = std::max(most, point.db);
  }
  most = std::min(10 * std::ceil((most + 1) / 10), kMostDb);
  const int db_step = most > 60 ? 20 : 10;
  const auto x_of = [](double exponent) {
    return kChartLeft + (exponent - kLowestExponent) / (kHighestExponent - kLowestExponent) *
                            (kChartRight - kChartLeft);
  };
  const auto y_of = [&](double db) { return bottom - db / most * kChartHeight; };
  const TextStyle label{.size = 12, .colour = kGrey, .anchor = "middle"};
  for (std::size_t i = 0; i < kMagnitudes.size(); ++i) {
    const double x = x_of(kLowestExponent + 4.0 * static_cast<double>(i));
    svg.line(x, top, x, bottom, kRule);
    svg.text(x, bottom + 17, kMagnitudes[i], label);
  }
  for (int db = 0; db <= static_cast<int>(most); db += db_step) {
    svg.line(kChartLeft, y_of(db), kChartRight, y_of(db), db == 0 ? kGrey : kRule);
    svg.text(kChartLeft - 8, y_of(db) + 4, fmt::format("{}", db),
             {.size = 12, .colour = kGrey, .anchor = "end"});
  }
  double y = top + 12;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string path;
    for (const PrecisionPoint& point : curves[i]) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_of(point.exponent),
                          y_of(point.db));
    }
    const std::string_view colour = kFamilies[rows[i].family].colour;
    svg.curve(path, colour, 2, rows[i].dashes);
    svg.line(kChartRight + 14, y - 4, kChartRight + 42, y - 4, colour, 2, rows[i].dashes);
    svg.text(kChartRight + 50, y, rows[i].name, {.size = 12});
    y += 20;
  }
}

std::string picture(const std::vector<PlottedRow>& rows) {
  const auto count = static_cast<double>(rows.size());
  const double values_top = 78;
  const double chart_top = values_top + kRowHeight * count + 92;
  const double height = std::max(chart_top + kChartHeight, chart_top + 20 * count) + 64;
  const TextStyle heading{.size = 17, .colour = kInk, .is_bold = true};
  const TextStyle note{.size = 12, .colour = kGrey};
  Svg svg(kWidth, height, "Number formats: their values, and their precision by magnitude");
  svg.text(kLeft, 34, "Which numbers from −8 to 8 a format holds", heading);
  draw_families(svg, rows, 60);
  draw_values(svg, rows, values_top);
  svg.text(kLeft, chart_top - 38, "How precisely it holds them, by magnitude", heading);
  svg.text(kLeft, chart_top - 16,
           "Signal to rounding error in dB, of numbers around that magnitude: 6 dB are one bit, at "
           "0 nothing is left",
           note);
  draw_precision(svg, rows, chart_top);
  if (std::ranges::any_of(rows,
                          [](const PlottedRow& row) { return has_scale_from_data(row.format); })) {
    svg.text(kLeft, height - 18,
             "A scale that comes from the data is the one of a group whose largest magnitude is 8; "
             "its curve ends there.",
             note);
  }
  return svg.finish();
}

}  // namespace

void plot_formats(const std::vector<std::string>& formats, const std::string& path) {
  const std::string svg = picture(rows_of(formats.empty() ? kPlottedChoice : formats));
  if (path == "-") return fmt::print("{}", svg);
  write_text_file(path, svg);
}

}  // namespace nibble
