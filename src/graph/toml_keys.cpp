// SPDX-License-Identifier: Apache-2.0
// Knows no more of TOML than where its strings and comments end.
#include "graph/toml_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

constexpr int kMostNames = 8;
constexpr std::string_view kEndsOfKeys = "=,[]{}\n";

// The place behind the string that begins there; open ones are toml++'s to refuse.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool has_lines = text.substr(begin).starts_with(three);
  const std::size_t quotes = has_lines ? 3 : 1;
  const std::string_view end = std::string_view(three).substr(0, quotes);
  for (std::size_t i = begin + quotes; i < text.size(); ++i) {
    if (!has_lines && text[i] == '\n') return i;
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(end)) {
      i += quotes;
      if (!has_lines) return i;
      for (int more = 0; more < 2 && text.substr(i).starts_with(quote); ++more) ++i;
      return i;
    }
  }
  return text.size();
}

}  // namespace

void check_toml_keys(std::string_view text, std::string_view source, std::string_view op) {
  int names = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else {
      if (kEndsOfKeys.find(c) != std::string_view::npos) names = 1;
      if (c == '.' && ++names > kMostNames) {
        throw Error(
            op, fmt::format("{}:{}: key", source, 1 + std::ranges::count(text.substr(0, i), '\n')),
            fmt::format("over {} names", kMostNames), fmt::format("at most {}", kMostNames),
            ErrorKind::input);
      }
      ++i;
    }
  }
}

}  // namespace nibble::inline graph
