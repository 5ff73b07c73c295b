// SPDX-License-Identifier: Apache-2.0
// What nibble sweep tells.
#include "tasks/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/name.h"
#include "core/text_file.h"
#include "report/bar_chart.h"
#include "run_folder/csv_log.h"
#include "tasks/json.h"

namespace nibble::inline tasks {
namespace {

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::string csv_of(const SweepTable& table) {
  std::string csv =
      fmt::format("{},seeds,top1_mean,top1_deviation,top1\n", fmt::join(table.axes, ","));
  for (const SweepRow& row : table.rows) {
    CsvRow line;
    for (const std::string& label : row.labels) line.add(label);
    line.add(static_cast<std::int64_t>(row.top1.size()))
        .add(mean_of(row.top1))
        .add(deviation_of(row.top1))
        .add(fmt::format("{}", fmt::join(row.top1, " ")));
    csv += line.line();
  }
  return csv;
}

// The last of several axes has a colour a value, the others make the groups.
std::string chart_of(const SweepTable& table, const std::string& title) {
  const bool has_series = table.axes.size() > 1;
  BarChart chart{.title = title, .x_label = "test error, %", .series = {}, .width = 640};
  std::vector<BarGroup> groups;
  for (const SweepRow& row : table.rows) {
    const std::string series = has_series ? row.labels.back() : table.axes.front();
    if (!series.empty() && std::ranges::find(chart.series, series) == chart.series.end())
      chart.series.push_back(series);
  }
  if (chart.series.empty()) chart.series.push_back(table.axes.front());  // the first row alone
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> names = row.labels;
    if (has_series) names.pop_back();
    std::erase(names, "");
    const std::string group = fmt::format("{}", fmt::join(names, ", "));
    if (groups.empty() || groups.back().name != group)
      groups.push_back({group, std::vector<double>(chart.series.size(), std::nan(""))});
    const auto found = std::ranges::find(chart.series, has_series ? row.labels.back() : "");
    const auto place = found == chart.series.end() ? 0 : found - chart.series.begin();
    groups.back().values[static_cast<std::size_t>(place)] = 100 * (1 - mean_of(row.top1));
  }
  return draw(chart, groups);
}

void print_json(const SweepTable& table) {
  Json list = Json::array();
  for (const SweepRow& row : table.rows) {
    Json json;
    for (std::size_t i = 0; i < table.axes.size(); ++i) json[table.axes[i]] = row.labels[i];
    json["top1"] = row.top1;
    json["mean"] = mean_of(row.top1);
    json["deviation"] = deviation_of(row.top1);
    list.push_back(std::move(json));
  }
  fmt::print("{}\n", list.dump(2));
}

// What the others are compared with.
std::string name_of_first(const SweepRow& row) {
  const bool is_alone = std::ranges::count(row.labels, "") + 1 == std::ssize(row.labels);
  return is_alone ? row.labels.front() : "first";
}

}  // namespace

void write_table(const std::filesystem::path& folder, const SweepTable& table,
                 const std::string& title) {
  write_text_file(folder / "sweep.csv", csv_of(table));
  write_text_file(folder / "sweep.svg", chart_of(table, title));
}

void print_table(const SweepTable& table, bool is_json) {
  if (is_json) return print_json(table);
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    std::size_t width = std::max<std::size_t>(12, width_of(table.axes[i]));
    for (const SweepRow& row : table.rows) width = std::max(width, width_of(row.labels[i]));
    widths.push_back(width);
  }
  const auto print_labels = [&](const std::vector<std::string>& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) fmt::print("{:<{}}  ", labels[i], widths[i]);
  };
  const double base = mean_of(table.rows.front().top1);
  print_labels(table.axes);
  fmt::print("{:>8} {:>6}  {:>9}\n", "top-1 %", "±", "to " + name_of_first(table.rows.front()));
  for (const SweepRow& row : table.rows) {
    const double mean = mean_of(row.top1);
    print_labels(row.labels);
    fmt::print("{:>8.2f} {:>6.2f}  {:>+9.2f}\n", 100 * mean, 100 * deviation_of(row.top1),
               100 * (mean - base));
  }
}

}  // namespace nibble::inline tasks
