// SPDX-License-Identifier: Apache-2.0
// The table of settings: those that differ stand out, those that agree fold away.
#include <fmt/format.h>

#include <algorithm>

#include "core/name.h"
#include "report/html_sections.h"
#include "report/svg.h"

namespace nibble::inline report {
namespace {

std::string table_of(const ReportRuns& report, const std::vector<const ComparedSetting*>& rows) {
  std::string html = "<div class=\"box\" tabindex=\"0\"><table>\n<tr><th>setting</th>";
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    html += fmt::format("<th>{} {}</th>", swatch(i), escaped(shortened(report.name(i), 40)));
  }
  html += "</tr>\n";
  for (const ComparedSetting* row : rows) {
    html += fmt::format("<tr{}><td class=\"name\">{}</td>",
                        row->is_different ? " class=\"differs\"" : "", escaped(row->key));
    for (const std::string& value : row->values) {
      html += fmt::format("<td class=\"wide\">{}</td>", value.empty() ? "–" : escaped(value));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string settings_section(const ReportRuns& report) {
  std::vector<const ComparedSetting*> different;
  std::vector<const ComparedSetting*> equal;
  for (const ComparedSetting& row : report.comparison.settings) {
    (row.is_different ? different : equal).push_back(&row);
  }
  if (different.empty() && equal.empty()) return "";
  std::string html = "<h2>Settings</h2>\n";
  if (report.runs.size() == 1) return html + table_of(report, equal);
  if (different.empty())
    html += "<p>No setting differs.</p>\n";
  else
    html += "<p class=\"note\">What differs:</p>\n" + table_of(report, different);
  if (equal.empty()) return html;
  return html + fmt::format("<details><summary>{} settings agree</summary>\n", equal.size()) +
         table_of(report, equal) + "</details>\n";
}

}  // namespace nibble::inline report
