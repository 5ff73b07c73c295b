// SPDX-License-Identifier: Apache-2.0
// Who is taken for whom: confusion matrices, the most confused pairs, accuracy by class.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/name.h"
#include "report/bar_chart.h"
#include "report/heat_map.h"
#include "report/html_page.h"
#include "report/html_sections.h"
#include "report/run_record.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr std::size_t kMostClasses = 40;  // of a matrix that can be read
constexpr std::size_t kMostLabels = 20;   // with counts in its cells
constexpr std::size_t kMostPairs = 10;

// Of the test split, or of the validation split where only that was looked at.
const EvaluationRecord* evaluation_of(const RunRecord& run) {
  if (!run.summary) return nullptr;
  for (const auto* split : {&run.summary->test, &run.summary->val}) {
    if (*split && !(*split)->confusion.empty()) return &**split;
  }
  return nullptr;
}

std::vector<std::string> names_of(const EvaluationRecord& record) {
  if (!record.class_names.empty()) return record.class_names;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < record.confusion.size(); ++i) names.push_back(std::to_string(i));
  return names;
}

double total(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

std::string matrix(const EvaluationRecord& record, const std::string& title) {
  const std::vector<std::string> names = names_of(record);
  const bool has_labels = names.size() <= kMostLabels;
  const auto is_long = [](const std::string& name) { return width_of(name) > 5; };
  const HeatMap map = {.title = title,
                       .corner = "true ↓ answer →",
                       .rows = names,
                       .columns = names,
                       .has_turned_columns = !has_labels || std::ranges::any_of(names, is_long),
                       .has_small_cells = !has_labels};
  std::vector<HeatCell> cells;
  for (std::size_t r = 0; r < names.size(); ++r) {
    const double sum = total(record.confusion[r]);
    for (std::size_t c = 0; c < names.size(); ++c) {
      const double count = record.confusion[r][c];
      const double share = sum > 0 ? count / sum : 0;
      // The root lets rare confusions show beside the diagonal.
      cells.push_back({.strength = std::sqrt(share),
                       .label = has_labels && count > 0 ? fmt::format("{:.0f}", count) : "",
                       .tooltip = fmt::format("{} taken for {}: {:.0f} of {:.0f}, {}", names[r],
                                              names[c], count, sum, shown_share(share))});
    }
  }
  return html_heat_map(map, cells);
}

struct Pair {
  std::size_t truth = 0;
  std::size_t answer = 0;
  double count = 0;
};

std::vector<Pair> most_confused(const EvaluationRecord& record) {
  std::vector<Pair> pairs;
  for (std::size_t r = 0; r < record.confusion.size(); ++r) {
    for (std::size_t c = 0; c < record.confusion.size(); ++c) {
      if (r != c && record.confusion[r][c] > 0) pairs.push_back({r, c, record.confusion[r][c]});
    }
  }
  std::ranges::stable_sort(pairs, std::greater{}, &Pair::count);
  pairs.resize(std::min(pairs.size(), kMostPairs));
  return pairs;
}

std::string pairs_table(const EvaluationRecord& record, const std::string& title) {
  const std::vector<Pair> pairs = most_confused(record);
  if (pairs.empty()) return "<p>No image was taken for another class.</p>\n";
  const std::vector<std::string> names = names_of(record);
  std::string html = fmt::format(
      "<div class=\"box\" tabindex=\"0\"><table>\n<caption>Most confused: {}</caption>\n"
      "<tr><th>true class</th><th>taken for</th><th class=\"number\">images</th>"
      "<th class=\"number\">of its class</th></tr>\n",
      escaped(title));
  for (const Pair& pair : pairs) {
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{:.0f}</td>"
        "<td class=\"number\">{}</td></tr>\n",
        escaped(names[pair.truth]), escaped(names[pair.answer]), pair.count,
        shown_share(pair.count / total(record.confusion[pair.truth])));
  }
  return html + "</table></div>\n";
}

// Of the runs that know the same classes as the first one.
std::string by_class(const ReportRuns& report) {
  BarChart chart = {
      .title = "Accuracy by class", .x_label = "%", .width = 560, .theme = kPageTheme};
  std::vector<BarGroup> groups;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const EvaluationRecord* record = evaluation_of(report.runs[i]);
    chart.series.push_back(report.name(i));  // also without bars: the colour is the place
    for (std::size_t k = 0; record != nullptr && k < record->confusion.size(); ++k) {
      const std::string name = names_of(*record)[k];
      if (groups.size() <= k) groups.push_back({.name = name});
      if (groups[k].name != name) return "";
      groups[k].values.resize(i, kAbsent);
      const double sum = total(record->confusion[k]);
      groups[k].values.push_back(sum > 0 ? 100 * record->confusion[k][k] / sum : kAbsent);
    }
  }
  if (groups.empty() || groups.size() > kMostClasses) return "";
  return html_figure(draw(chart, groups));
}

}  // namespace

std::string confusion_section(const ReportRuns& report) {
  std::string html;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const EvaluationRecord* record = evaluation_of(report.runs[i]);
    if (record == nullptr) continue;
    html += "<div class=\"side\">\n";
    if (record->confusion.size() <= kMostClasses) html += matrix(*record, report.name(i));
    html += pairs_table(*record, report.name(i)) + "</div>\n";
  }
  if (html.empty()) return "";
  return "<h2>Confusion</h2>\n<p class=\"note\">Rows are the true classes, columns the answers; "
         "colour is the square root of the share of the row.</p>\n" +
         html + by_class(report);
}

}  // namespace nibble::inline report
