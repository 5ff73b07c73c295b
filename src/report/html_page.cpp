// SPDX-License-Identifier: Apache-2.0
// The frame of a page, and tables.
#include "report/html_page.h"

#include <fmt/format.h>

#include "nibble/version.h"
#include "report/html_style.h"
#include "report/svg.h"

namespace nibble::inline report {

std::string html_page(std::string_view title, std::string_view body, std::string_view writer) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  html += fmt::format("<title>{} – Nibble</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
                      escaped(title), kHtmlStyle);
  html += fmt::format("<h1>{}</h1>\n{}", escaped(title), body);
  html += fmt::format("<footer>Written by {} {}</footer>\n", writer, kVersion);
  return html + "</main>\n</body>\n</html>\n";
}

std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"box\" tabindex=\"0\"><table>\n<tr>";
  for (const std::string& each : head) html += fmt::format("<th>{}</th>", escaped(each));
  html += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      html += fmt::format("<td{}>{}</td>", i == 0 ? " class=\"name\"" : "", escaped(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string html_figure(std::string_view content) {
  return fmt::format("<figure class=\"scroll\" tabindex=\"0\">{}</figure>\n", content);
}

}  // namespace nibble::inline report
