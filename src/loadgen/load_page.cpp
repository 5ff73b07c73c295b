// SPDX-License-Identifier: Apache-2.0
// The page: tables of all runs, then charts with all of them over each other.
#include "loadgen/load_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nibble/core/error.h"
#include "report/html_page.h"
#include "report/svg.h"

namespace nibble::inline loadgen {
namespace {

std::string in_ms(const LoadResult& result, const char* percentile) {
  const auto found = result.figure(fmt::format("{}_percentile_latency_ns", percentile));
  return found ? fmt::format("{:.3f}", 1e-6 * *found) : "–";
}

// The speed of each run by that of the first of its scenario.
std::vector<std::string> compared(const std::vector<LoadRecord>& runs) {
  std::vector<std::string> shares;
  for (const LoadRecord& run : runs) {
    const auto first = std::ranges::find(runs, run.scenario, &LoadRecord::scenario);
    const double share = run.result.speed().value_or(0) / first->result.speed().value_or(0);
    shares.push_back(std::isfinite(share) ? fmt::format("{:.3f}", share) : "–");
  }
  return shares;
}

std::string results_of(const std::vector<LoadRecord>& runs) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<std::string> shares = compared(runs);
  std::string reasons;
  for (const LoadRecord& run : runs) {
    const LoadResult& result = run.result;
    const bool is_known = result.is_valid.has_value();
    rows.push_back({run.name, run.model, std::string(name_of(run.scenario)), run.mode,
                    is_known ? result.headline(run.scenario) : "–", shares[rows.size()],
                    !is_known          ? "–"
                    : *result.is_valid ? "VALID"
                                       : "INVALID",
                    in_ms(result, "50.00"), in_ms(result, "90.00"), in_ms(result, "99.00"),
                    in_ms(result, "99.90")});
    if (is_known && !*result.is_valid)
      reasons += fmt::format("<p>{}: {}</p>\n", escaped(run.name), escaped(result.reason));
  }
  return html_table({"run", "model", "scenario", "mode", "result", "times the first", "valid",
                     "50 %, ms", "90 %, ms", "99 %, ms", "99.9 %, ms"},
                    rows) +
         reasons;
}

std::string settings_of(const std::vector<LoadRecord>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const LoadRecord& run : runs) rows.push_back({run.name, run.machine, run.settings});
  return html_table({"run", "where", "how"}, rows);
}

std::string chart_of(const std::vector<LoadRecord>& runs, LineChart chart,
                     std::vector<ChartPoint> LoadRecord::*points) {
  std::vector<ChartSeries> series;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!(runs[i].*points).empty())
      series.push_back({.name = runs[i].name, .points = runs[i].*points, .colour = i % 8});
  }
  if (series.empty()) return "";
  chart.theme = kPageTheme;
  return html_figure(draw(chart, series));
}

}  // namespace

std::string load_page(const std::vector<LoadRecord>& runs) {
  if (runs.empty()) throw Error("loadgen report", "runs", "none", "at least one");
  std::string body = "<h2>Results</h2>\n" + results_of(runs) + "<h2>How they ran</h2>\n" +
                     settings_of(runs) + "<h2>Latencies and batches</h2>\n<div class=\"charts\">\n";
  body += chart_of(runs,
                   {.title = "Samples by latency, % (eight buckets a doubling)",
                    .x_label = "ms, from the call to the answer",
                    .is_log_x = true},
                   &LoadRecord::latencies);
  body += chart_of(runs, {.title = "Batches by size", .x_label = "samples", .has_whole_x = true},
                   &LoadRecord::sizes);
  body += "</div>\n<h2>Over time</h2>\n<div class=\"charts\">\n";
  body += chart_of(runs, {.title = "Samples a second", .x_label = "s"}, &LoadRecord::rate);
  body += chart_of(runs, {.title = "Samples of a batch, mean", .x_label = "s"}, &LoadRecord::batch);
  body +=
      chart_of(runs, {.title = "Samples that wait, most", .x_label = "s"}, &LoadRecord::waiting);
  body += chart_of(runs, {.title = "Device busy: with a batch or more, %", .x_label = "s"},
                   &LoadRecord::device_busy);
  body += chart_of(runs, {.title = "Batches on their way, % of the lanes", .x_label = "s"},
                   &LoadRecord::busy);
  return html_page(runs.size() == 1 ? runs.front().name : "Runs under LoadGen", body + "</div>\n",
                   "nibble loadgen report");
}

}  // namespace nibble::inline loadgen
