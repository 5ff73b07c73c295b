// SPDX-License-Identifier: Apache-2.0
// Words from elsewhere in pages.
#include "report/escape.h"

namespace nibble::inline report {

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : well_formed(words)) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += c;
  }
  return result;
}

}  // namespace nibble::inline report
