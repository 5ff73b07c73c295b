// SPDX-License-Identifier: Apache-2.0
// The top of the report: a card a run and the table of results; further down the settings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_sections.h"
#include "report/run_record.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

constexpr std::size_t kMostCards = 8;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : " · ") + escaped(part);
  }
  return text;
}

std::string state_of(const RunRecord& run) {
  return run.summary ? "" : "not ended: figures of the last epoch";
}

// The figure that stands large, and what it is.
std::pair<std::string, std::string> headline(const RunRecord& run) {
  for (const ResultKind& kind : result_kinds()) {
    const bool is_quality = kind.unit == ResultUnit::share || kind.unit == ResultUnit::number;
    const std::string text = shown(kind, kind.value(run));
    if (is_quality && !text.empty()) return {text, std::string(kind.title)};
  }
  return {"–", "nothing measured yet"};
}

std::string with_name(const std::string& name, const std::string& value) {
  return value.empty() ? "" : name + " " + value;
}

std::string card(const ReportRuns& report, std::size_t i) {
  const RunRecord& run = report.runs[i];
  const auto [figure, what] = headline(run);
  std::string epochs;
  std::string time;
  for (const ResultKind& kind : result_kinds()) {
    if (kind.name == "epochs") epochs = shown(kind, kind.value(run));
    if (kind.name == "seconds") time = shown(kind, kind.value(run));
  }
  return fmt::format(
      "<div class=\"card\" style=\"border-top-color:var(--s{})\"><div class=\"name\">{}</div>"
      "<div class=\"big\">{}</div><p class=\"note\">{}</p><p class=\"note\">{}</p>"
      "<p class=\"note\">{}</p></div>\n",
      i % 8, escaped(report.name(i)), escaped(figure), escaped(what),
      joined({run.setting("network"), run.setting("data"), with_name("seed", run.setting("seed"))}),
      joined({with_name("epochs", epochs), time, state_of(run)}));
}

// Of shares the largest, of losses the smallest: written bold where runs are compared.
double best_of(const ComparedResult& row, bool is_largest) {
  double best = kAbsent;
  for (const double value : row.values) {
    best = is_largest ? std::fmax(best, value) : std::fmin(best, value);
  }
  return best;
}

bool is_largest_best(const std::string& name) {
  return name.find("top") != std::string::npos;
}

bool has_best(const std::string& name) {
  return is_largest_best(name) || name.find("loss") != std::string::npos;
}

std::string result_title(const std::string& name) {
  for (const ResultKind& kind : result_kinds()) {
    if (kind.name == name) return std::string(kind.title);
  }
  return name;
}

std::string cell_of(const ComparedResult& row, std::size_t i) {
  const std::string text = row.texts[i].empty() ? "–" : escaped(row.texts[i]);
  const bool is_best = row.values.size() > 1 && has_best(row.name) &&
                       row.values[i] == best_of(row, is_largest_best(row.name));
  return fmt::format("<td class=\"number\">{0}{1}{2}</td>", is_best ? "<strong>" : "", text,
                     is_best ? "</strong>" : "");
}

std::string html_on_weights(const Comparison& comparison) {
  switch (comparison.weights) {
    case Comparison::Weights::equal:
      return "The weights of all runs are equal, bit for bit.";
    case Comparison::Weights::different:
      return "Runs with the same hash ended with the same weights, bit for bit.";
    case Comparison::Weights::unknown:
      break;
  }
  return "";
}

}  // namespace

std::string swatch(std::size_t colour) {
  return fmt::format("<i class=\"swatch\" style=\"background:var(--s{})\"></i>", colour % 8);
}

std::string results_section(const ReportRuns& report) {
  std::string html;
  if (report.runs.size() <= kMostCards) {
    html += "<div class=\"cards\">\n";
    for (std::size_t i = 0; i < report.runs.size(); ++i) html += card(report, i);
    html += "</div>\n";
  }
  html +=
      "<h2>Results</h2>\n<div class=\"box\" tabindex=\"0\"><table>\n<tr><th>run</th>"
      "<th>network</th><th>data</th><th>seed</th>";
  for (const ComparedResult& row : report.comparison.results) {
    html += fmt::format("<th class=\"number\">{}</th>", result_title(row.name));
  }
  html += "<th>started</th><th>weights</th></tr>\n";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunRecord& run = report.runs[i];
    html += fmt::format(
        "<tr><td class=\"name\">{} {}</td><td class=\"short\">{}</td>"
        "<td class=\"short\">{}</td><td class=\"short\">{}</td>",
        swatch(i), escaped(report.name(i)), escaped(run.setting("network")),
        escaped(run.setting("data")), escaped(run.setting("seed")));
    for (const ComparedResult& row : report.comparison.results) html += cell_of(row, i);
    const std::string& hash = report.comparison.weights_hashes[i];
    html += fmt::format("<td class=\"short\">{}</td><td>{}</td></tr>\n", escaped(run.started),
                        !hash.empty() ? "<code>" + escaped(hash) + "</code>"
                        : run.summary ? "–"
                                      : "not ended");
  }
  html += "</table></div>\n";
  const std::string weights = html_on_weights(report.comparison);
  return weights.empty() ? html : html + "<p class=\"note\">" + weights + "</p>\n";
}

}  // namespace nibble::inline report
