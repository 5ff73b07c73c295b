// SPDX-License-Identifier: Apache-2.0
// Runs as one HTML page.
#include "nibble/report/html_report.h"

#include <fmt/format.h>

#include <ostream>

#include "nibble/core/atomic_file.h"
#include "nibble/core/error.h"
#include "nibble/version.h"
#include "report/escape.h"
#include "report/html_sections.h"
#include "report/html_style.h"

namespace nibble {
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
  const std::string title = escaped(title_of(comparison));
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  html += fmt::format("<title>{} – Nibble</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
                      title, kHtmlStyle);
  html += fmt::format("<h1>{}</h1>\n", title) + words_below_title(runs);
  html += results_section(report);
  html += curves_section(report);
  html += settings_section(report);
  html += layers_section(report);
  html += integers_section(report);
  html += histograms_section(report);
  html += confusion_section(report);
  html += fmt::format("<footer>Written by nibble report {}</footer>\n", kVersion);
  return html + "</main>\n</body>\n</html>\n";
}

void write_report(const std::filesystem::path& path, const std::vector<RunRecord>& runs) {
  const std::string html = report_html(runs);
  AtomicFile file(path);
  file.stream() << html;
  file.commit();
}

}  // namespace nibble
