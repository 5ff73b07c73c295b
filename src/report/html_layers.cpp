// SPDX-License-Identifier: Apache-2.0
// Layers by role in the report: what rounding cost, and how the values are spread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_set>

#include "report/axis.h"
#include "report/heat_map.h"
#include "report/histogram_grid.h"
#include "report/html_page.h"
#include "report/html_sections.h"
#include "report/run_record.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr double kGoodSqnr = 60;  // dB from which a cell has no colour

using LayerRole = std::pair<std::string, std::string>;  // layer and role

template <class Record>
std::vector<std::string> names_of(const std::vector<Record>& records, std::string Record::*name) {
  std::vector<std::string> names;
  names.reserve(records.size());
  for (const Record& record : records) names.push_back(record.*name);
  return names;
}

std::string sqnr_label(double db) {
  if (std::isnan(db)) return "";
  return std::isinf(db) ? (db > 0 ? "exact" : "−∞") : fmt::format("{:.0f}", db);
}

HeatCell sqnr_cell(const RoundingRecord& record) {
  const double db = record.sqnr_db;
  HeatCell cell = {.label = sqnr_label(db)};
  cell.strength = std::isnan(db) ? 0 : std::clamp(1 - db / kGoodSqnr, 0.0, 1.0);
  cell.tooltip = fmt::format("{}, {}: {}", record.layer, record.role, record.format);
  if (!std::isnan(db)) {
    cell.tooltip += std::isinf(db) ? ", nothing lost" : fmt::format(", {:.1f} dB", db);
  }
  const auto add = [&](double value, const std::string& words) {
    if (!std::isnan(value)) cell.tooltip += fmt::format(", {} {}", words, short_number(value));
  };
  if (!std::isnan(record.share_saturated)) {
    cell.tooltip += ", saturated " + shown_share(record.share_saturated);
  }
  if (!std::isnan(record.share_flushed)) {
    cell.tooltip += ", flushed to zero " + shown_share(record.share_flushed);
  }
  add(record.min, "min");
  add(record.max, "max");
  add(record.deviation, "deviation");
  add(record.elements, "elements");
  return cell;
}

std::string sqnr_map(const ReportRuns& report, std::size_t i) {
  const RunRecord& run = report.runs[i];
  std::map<LayerRole, const RoundingRecord*> last;
  for (const RoundingRecord& record : run.layers) last[{record.layer, record.role}] = &record;
  HeatMap map = {.title = report.name(i),
                 .rows = layer_order(names_of(run.layers, &RoundingRecord::layer)),
                 .columns = role_order(names_of(run.layers, &RoundingRecord::role))};
  std::vector<HeatCell> cells;
  for (const std::string& layer : map.rows) {
    for (const std::string& role : map.columns) {
      const auto found = last.find({layer, role});
      cells.push_back(found == last.end() ? HeatCell{} : sqnr_cell(*found->second));
    }
  }
  return html_heat_map(map, cells);
}

std::string histogram_map(const ReportRuns& report, std::size_t i) {
  const RunRecord& run = report.runs[i];
  std::map<LayerRole, std::pair<const HistogramRecord*, const HistogramRecord*>> ends;
  for (const HistogramRecord& record : run.histograms) {
    auto& [first, last] = ends[{record.layer, record.role}];
    if (first == nullptr) first = &record;
    last = &record;
  }
  HistogramGrid grid = {.title = report.name(i),
                        .rows = layer_order(names_of(run.histograms, &HistogramRecord::layer)),
                        .columns = role_order(names_of(run.histograms, &HistogramRecord::role)),
                        .colour = i,
                        .theme = kPageTheme};
  std::vector<HistogramCell> cells;
  for (const std::string& layer : grid.rows) {
    for (const std::string& role : grid.columns) {
      HistogramCell cell;
      if (const auto found = ends.find({layer, role}); found != ends.end()) {
        const auto& [first, last] = found->second;
        cell.after = last->bins;
        cell.tooltip = fmt::format("{}, {}: epoch {}", layer, role, last->epoch);
        if (first->epoch != last->epoch) {
          cell.before = first->bins;
          cell.tooltip += fmt::format(" in colour, epoch {} grey", first->epoch);
        }
      }
      cells.push_back(std::move(cell));
    }
  }
  return html_figure(draw(grid, cells));
}

}  // namespace

std::vector<std::string> layer_order(const std::vector<std::string>& names) {
  std::vector<std::string> order;
  std::unordered_set<std::string_view> known;
  for (const std::string& name : names) {
    if (known.insert(name).second) order.push_back(name);
  }
  return order;
}

std::vector<std::string> role_order(const std::vector<std::string>& names) {
  constexpr std::array kRoles = {"weight",   "value",  "activation", "error",      "gradient",
                                 "momentum", "update", "master",     "accumulator"};
  std::vector<std::string> order = layer_order(names);
  std::ranges::stable_sort(order, {}, [&](const std::string& name) {
    return std::ranges::find(kRoles, name) - kRoles.begin();
  });
  return order;
}

std::string layers_section(const ReportRuns& report) {
  std::string maps;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunRecord& run = report.runs[i];
    // Integers are born rounded: nothing to measure against.
    if (!run.layers.empty() && run.integers.empty()) maps += sqnr_map(report, i);
  }
  if (maps.empty()) return "";
  return "<h2>Signal to rounding error, by layer and role</h2>\n"
         "<p class=\"note\">In dB, at the last epoch: 6 dB are one bit. The stronger the colour, "
         "the "
         "more was lost. The pointer shows format, saturation and range.</p>\n"
         "<div class=\"side\">\n" +
         maps + "</div>\n";
}

std::string histograms_section(const ReportRuns& report) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (report.runs[i].histograms.empty()) continue;
    html += fmt::format("<details{}><summary>{}</summary>\n", html.empty() ? " open" : "",
                        escaped(report.name(i)));
    html += histogram_map(report, i) + "</details>\n";
  }
  if (html.empty()) return "";
  return "<h2>Values, by layer and role</h2>\n"
         "<p class=\"note\">In colour the last epoch, grey the first one. Heights are square roots "
         "of "
         "densities, so that tails show; below each stand the ends of its range.</p>\n" +
         html;
}

}  // namespace nibble::inline report
