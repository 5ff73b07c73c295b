// SPDX-License-Identifier: Apache-2.0
// Runs of integers alone in the report: shifts, weights at their ends, weights that moved.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "report/histogram_grid.h"
#include "report/html_page.h"
#include "report/html_sections.h"
#include "report/line_chart.h"
#include "report/run_record.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

struct Look {
  std::size_t colour;
  std::string_view dashes;
};

// Layers beyond the colours begin again with other dashes.
Look look_of(std::size_t layer) {
  constexpr std::size_t kColours = kPageTheme.series.size();
  return {layer % kColours, kChartDashes[layer / kColours % kChartDashes.size()]};
}

double shift_of(const IntegerRecord& record) {
  return static_cast<double>(record.shift);
}

double rails_of(const IntegerRecord& record) {
  return 100 * record.share_at_rails;
}

double moved_of(const IntegerRecord& record) {
  return 100 * record.share_moved;
}

struct Quantity {
  std::string_view title;
  std::string_view tensor;
  double (*value)(const IntegerRecord& record);
  bool is_whole;
};

constexpr std::array kQuantities = {Quantity{"Shift of values, bits", "value", shift_of, true},
                                    Quantity{"Shift of errors, bits", "error", shift_of, true},
                                    Quantity{"Weights at ±127, %", "weight", rails_of, false},
                                    Quantity{"Weights that moved, %", "weight", moved_of, false}};

// Layers in the order in which they are met.
std::vector<std::string> layers_of(const RunRecord& run) {
  std::vector<std::string> names;
  for (const IntegerRecord& record : run.integers) names.push_back(record.layer);
  return layer_order(names);
}

std::string chart_of(const RunRecord& run, const std::vector<std::string>& layers,
                     const Quantity& quantity) {
  std::map<std::string_view, std::vector<ChartPoint>> points;
  for (const IntegerRecord& record : run.integers) {
    const ChartPoint point = {static_cast<double>(record.epoch), quantity.value(record)};
    if (record.tensor != quantity.tensor || std::isnan(point.y)) continue;
    std::vector<ChartPoint>& curve = points[record.layer];
    if (!curve.empty() && curve.back().x == point.x) curve.pop_back();  // the later one counts
    curve.push_back(point);
  }
  std::vector<ChartSeries> list;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto found = points.find(layers[i]);
    if (found == points.end()) continue;
    const Look look = look_of(i);
    list.push_back({.name = layers[i],
                    .points = std::move(found->second),
                    .colour = look.colour,
                    .dashes = look.dashes});
  }
  if (list.empty()) return "";
  const LineChart chart = {.title = std::string(quantity.title),
                           .x_label = "epoch",
                           .has_whole_x = true,
                           .has_whole_y = quantity.is_whole,
                           .has_legend = false,  // one for all charts stands above them
                           .theme = kPageTheme};
  return "<figure>" + draw(chart, list) + "</figure>\n";
}

std::string legend_of(const std::vector<std::string>& layers) {
  std::string html = "<div class=\"legend\">\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Look look = look_of(i);
    html += fmt::format(
        "<span><svg width=\"34\" height=\"10\" aria-hidden=\"true\"><path d=\"M1 5H33\" "
        "fill=\"none\" stroke=\"var(--s{})\" stroke-width=\"3\" stroke-dasharray=\"{}\"/></svg>{}"
        "</span>\n",
        look.colour, look.dashes, escaped(layers[i]));
  }
  return html + "</div>\n";
}

// Of every layer and tensor the shifts of all epochs.
std::string shift_histograms(const RunRecord& run, const std::vector<std::string>& layers,
                             std::size_t colour) {
  std::map<std::pair<std::string_view, std::string_view>, std::map<std::int64_t, double>> counts;
  for (const IntegerRecord& record : run.integers)
    ++counts[{record.layer, record.tensor}][record.shift];
  HistogramGrid grid = {.title = "Shifts of all epochs, bits",
                        .rows = layers,
                        .columns = {"value", "error", "weight"},
                        .colour = colour,
                        .theme = kPageTheme};
  std::vector<HistogramCell> cells;
  for (const std::string& layer : grid.rows) {
    for (const std::string& tensor : grid.columns) {
      HistogramCell& cell = cells.emplace_back();
      const auto found = counts.find({layer, tensor});
      if (found == counts.end()) continue;
      const std::int64_t least = found->second.begin()->first;
      const std::int64_t most = found->second.rbegin()->first;
      EqualBins bins = {.low = static_cast<double>(least) - 0.5,
                        .high = static_cast<double>(most) + 0.5,
                        .counts = std::vector<double>(static_cast<std::size_t>(most - least + 1))};
      for (const auto& [shift, count] : found->second)
        bins.counts[static_cast<std::size_t>(shift - least)] = count;
      cell = {.after = std::move(bins),
              .tooltip = fmt::format("{}, {}: {} to {}", layer, tensor, least, most)};
    }
  }
  return html_figure(draw(grid, cells));
}

std::string share_cell(double share) {
  return std::isnan(share) ? "–" : escaped(shown_share(share));
}

std::string misses_cell(const IntegerRecord& record) {
  if (std::isnan(record.misses)) return "–";
  if (std::isnan(record.batches)) return fmt::format("{:.0f}", record.misses);
  return fmt::format("{:.0f} of {:.0f}", record.misses, record.batches);
}

std::string table_of(const RunRecord& run) {
  const std::int64_t last = run.integers.back().epoch;
  std::string html = fmt::format(
      "<div class=\"box\" tabindex=\"0\"><table>\n<caption>Epoch {}</caption>\n"
      "<tr><th>layer</th><th>tensor</th><th class=\"number\">shift</th>"
      "<th class=\"number\">saturated</th><th class=\"number\">at ±127</th>"
      "<th class=\"number\">moved</th><th class=\"number\">guesses that missed</th></tr>\n",
      last);
  std::map<std::pair<std::string_view, std::string_view>, const IntegerRecord*> latest;
  for (const IntegerRecord& record : run.integers) latest[{record.layer, record.tensor}] = &record;
  for (const IntegerRecord& record : run.integers) {
    const bool is_void = latest[{record.layer, record.tensor}] != &record;
    if (record.epoch != last || is_void) continue;
    html +=
        fmt::format("<tr class=\"integer\"><td class=\"name\">{}</td><td class=\"short\">{}</td>",
                    escaped(record.layer), escaped(record.tensor));
    for (const std::string& text :
         {fmt::format("{}", record.shift), share_cell(record.share_saturated),
          share_cell(record.share_at_rails), share_cell(record.share_moved), misses_cell(record)}) {
      html += fmt::format("<td class=\"number\">{}</td>", text);
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string integers_section(const ReportRuns& report) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunRecord& run = report.runs[i];
    if (run.integers.empty()) continue;
    const std::vector<std::string> layers = layers_of(run);
    html += fmt::format("<details{}><summary>{}</summary>\n", html.empty() ? " open" : "",
                        escaped(report.name(i)));
    html += legend_of(layers) + "<div class=\"charts pairs\">\n";
    for (const Quantity& quantity : kQuantities) html += chart_of(run, layers, quantity);
    html += "</div>\n" + shift_histograms(run, layers, i) + table_of(run) + "</details>\n";
  }
  if (html.empty()) return "";
  return "<h2>Integers</h2>\n"
         "<p class=\"note\">The shift of a value or an error brings sums back to 8 bits, that of "
         "a weight brings its gradient down to a step. Shares are those of the epoch's last step. "
         "Guesses are of shifts, of the whole run: one that missed cost time, not a bit.</p>\n" +
         html;
}

}  // namespace nibble::inline report
