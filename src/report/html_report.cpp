// SPDX-License-Identifier: Apache-2.0
// Runs as one HTML page.
#include "report/html_report.h"

#include <fmt/format.h>

#include "core/text_file.h"
#include "nibble/core/error.h"
#include "report/html_page.h"
#include "report/html_sections.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

std::string title_of(const Comparison& comparison) {
  if (comparison.runs.size() == 1) return comparison.runs.front();
  return fmt::format("{} runs side by side", comparison.runs.size());
}

// What most runs share stands below the title.
std::string words_below_title(const std::vector<RunRecord>& runs) {
  const auto common = [&](const std::string& key) {
    for (const RunRecord& run : runs) {
      if (run.setting(key) != runs.front().setting(key)) return std::string("several");
    }
    return runs.front().setting(key);
  };
  const std::string network = common("network");
  const std::string data = common("data");
  return fmt::format("<p class=\"note\">network {}, data {}</p>\n",
                     network.empty() ? "unknown" : escaped(network),
                     data.empty() ? "unknown" : escaped(data));
}

}  // namespace

std::string report_html(const std::vector<RunRecord>& runs) {
  if (runs.empty()) throw Error("report", "runs", "none", "at least one");
  const Comparison comparison = compare(runs);
  const ReportRuns report = {.runs = runs, .comparison = comparison};
  return html_page(title_of(comparison),
                   words_below_title(runs) + results_section(report) + curves_section(report) +
                       settings_section(report) + layers_section(report) +
                       integers_section(report) + histograms_section(report) +
                       confusion_section(report),
                   "nibble report");
}

std::string top1_svg(const std::vector<RunRecord>& runs) {
  const Comparison comparison = compare(runs);
  return top1_chart({.runs = runs, .comparison = comparison});
}

void write_report(const std::filesystem::path& path, const std::vector<RunRecord>& runs) {
  const std::string text = path.extension() == ".svg" ? top1_svg(runs) : report_html(runs);
  write_text_file(path, text);
}

}  // namespace nibble::inline report
