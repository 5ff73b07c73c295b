// SPDX-License-Identifier: Apache-2.0
// A page that needs nothing else: no script, no other file, no network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nibble::inline report {

// The body is HTML below a heading with the title, which is plain text.
std::string html_page(std::string_view title, std::string_view body, std::string_view writer);

// Plain text in cells; the first column holds names.
std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows);

// A chart drawn with kPageTheme, or a table, which scrolls where it is wider than the page.
std::string html_figure(std::string_view content);

}  // namespace nibble::inline report
