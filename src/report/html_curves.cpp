// SPDX-License-Identifier: Apache-2.0
// The curves of the report: loss, top-1 and learning rate (integers: μ) by epoch, all runs over
// each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/html_sections.h"
#include "report/line_chart.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

struct Split {
  std::string_view name;
  double EpochRecord::*value;
  std::size_t style;  // val is solid, train dashed, test dotted; of one run they are colours
};

constexpr std::array kLosses = {Split{"train", &EpochRecord::train_loss, 1},
                                Split{"val", &EpochRecord::val_loss, 0},
                                Split{"test", &EpochRecord::test_loss, 2}};
constexpr std::array kTop1 = {Split{"train", &EpochRecord::train_top1, 1},
                              Split{"val", &EpochRecord::val_top1, 0},
                              Split{"test", &EpochRecord::test_top1, 2}};
constexpr Split kRate = {"", &EpochRecord::learning_rate, 0};

ChartSeries series_of(const ReportRuns& report, std::size_t i, const Split& split, double factor) {
  ChartSeries series = {.name = report.name(i)};
  if (!split.name.empty()) series.name += fmt::format(", {}", split.name);
  const bool is_alone = report.runs.size() == 1;
  series.colour = is_alone ? split.style : i;
  if (!is_alone) series.dashes = kChartDashes[split.style];
  bool has_value = false;
  for (const EpochRecord& epoch : report.runs[i].epochs) {
    const double value = factor * epoch.*split.value;
    if (std::isnan(value)) continue;  // not measured in this epoch: the curve goes on
    series.points.push_back({.x = static_cast<double>(epoch.epoch), .y = value});
    has_value = has_value || std::isfinite(value);
  }
  if (!has_value) series.points.clear();
  return series;
}

template <std::size_t n>
std::vector<ChartSeries> all_series(const ReportRuns& report, const std::array<Split, n>& splits,
                                    double factor = 1) {
  std::vector<ChartSeries> list;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    for (const Split& split : splits) {
      ChartSeries series = series_of(report, i, split, factor);
      if (!series.points.empty()) list.push_back(std::move(series));
    }
  }
  return list;
}

// A logarithmic axis where values are positive and far apart.
bool is_wide(const std::vector<ChartSeries>& list) {
  double low = kAbsent;
  double high = kAbsent;
  for (const ChartSeries& series : list) {
    for (const ChartPoint& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      low = std::fmin(low, point.y);
      high = std::fmax(high, point.y);
    }
  }
  return low > 0 && high / low > 20;
}

std::string figure(LineChart chart, const std::vector<ChartSeries>& series) {
  if (series.empty()) return "";
  chart.x_label = "epoch";
  chart.has_whole_x = true;
  chart.has_legend = false;  // one for all charts stands above them
  chart.theme = kPageTheme;
  return "<figure>" + draw(chart, series) + "</figure>\n";
}

std::string dash_key(const Split& split) {
  return fmt::format(
      "<span><svg width=\"34\" height=\"10\" aria-hidden=\"true\"><path d=\"M1 5H33\" "
      "fill=\"none\" stroke=\"var(--ink)\" stroke-width=\"2\" stroke-dasharray=\"{}\"/></svg>{}"
      "</span>\n",
      kChartDashes[split.style], split.name);
}

bool is_drawn(const ReportRuns& report, const Split& split) {
  return !all_series(report, std::array{split}).empty();
}

std::string legend(const ReportRuns& report) {
  const bool is_alone = report.runs.size() == 1;
  std::string html = "<div class=\"legend\">\n";
  for (std::size_t i = 0; !is_alone && i < report.runs.size(); ++i) {
    html += fmt::format("<span>{}{}</span>\n", swatch(i), escaped(report.name(i)));
  }
  for (const Split& split : {kLosses[1], kLosses[0], kLosses[2]}) {
    if (!is_drawn(report, split)) continue;
    html += is_alone ? fmt::format("<span>{}{}</span>\n", swatch(split.style), split.name)
                     : dash_key(split);
  }
  return html + "</div>\n";
}

// Of a run in integers by the rule shift the column of rates holds μ, in bits: another axis.
enum class Rate { factor, bits };

std::vector<ChartSeries> rates_of(const ReportRuns& report, Rate rate) {
  std::vector<ChartSeries> list;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunRecord& run = report.runs[i];
    const bool is_bits =
        run.setting("arithmetic").starts_with("int") && run.setting("update") != "sgd";
    if (is_bits != (rate == Rate::bits)) continue;
    ChartSeries series = series_of(report, i, kRate, 1);
    if (!series.points.empty()) list.push_back(std::move(series));
  }
  return list;
}

}  // namespace

std::string curves_section(const ReportRuns& report) {
  const std::vector<ChartSeries> losses = all_series(report, kLosses);
  const std::vector<ChartSeries> rates = rates_of(report, Rate::factor);
  const std::vector<ChartSeries> bits = rates_of(report, Rate::bits);
  const bool is_log_loss = is_wide(losses);
  const bool is_log_rate = is_wide(rates);
  const std::string charts =
      figure({.title = is_log_loss ? "Loss (logarithmic)" : "Loss", .is_log_y = is_log_loss},
             losses) +
      figure({.title = "Top-1, %"}, all_series(report, kTop1, 100)) +
      figure({.title = is_log_rate ? "Learning rate (logarithmic)" : "Learning rate",
              .is_log_y = is_log_rate},
             rates) +
      figure({.title = "μ, bits of a weight's largest step", .has_whole_y = true}, bits);
  if (charts.empty()) return "";
  const char* const grid = !rates.empty() && !bits.empty() ? "charts pairs" : "charts";
  return fmt::format("<h2>Curves</h2>\n{}<div class=\"{}\">\n{}</div>\n", legend(report), grid,
                     charts);
}

std::string top1_chart(const ReportRuns& report) {
  std::vector<ChartSeries> list;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    ChartSeries series = series_of(report, i, kTop1[2], 100);
    series.name = report.name(i);
    series.colour = i;
    series.dashes = {};
    list.push_back(std::move(series));
  }
  return draw({.title = "Top-1 of the test split, %", .x_label = "epoch", .has_whole_x = true},
              list);
}

}  // namespace nibble::inline report
