// SPDX-License-Identifier: Apache-2.0
// Splits the text of a layer into lines, keys and values.
#include "foreign/layer_directory/layer_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

constexpr std::size_t kMaxLines = 64;
constexpr std::size_t kMaxLine = 1024;

[[noreturn]] void fail_at(const std::string& source, std::size_t line, std::string_view what,
                          std::string_view got, std::string_view expected) {
  throw Error("layer_directory", fmt::format("{}:{}: {}", source, line, what), got, expected,
              ErrorKind::input);
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string_view> lines_of(std::string_view text, const std::string& source) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (lines.size() > kMaxLines) {
      fail_at(source, lines.size(), "lines", "more", fmt::format("at most {}", kMaxLines));
    }
    if (line.size() > kMaxLine) {
      fail_at(source, lines.size(), "length", std::to_string(line.size()),
              fmt::format("at most {}", kMaxLine));
    }
    if (!is_printable(line)) {
      fail_at(source, lines.size(), "line", in_quotes(line), "printable ASCII");
    }
  }
  return lines;
}

void add_path(LayerRecord& record, std::size_t number, std::string_view path) {
  const bool follows_key = !record.entries.empty() && record.entries.back().line + 1 == number;
  if (!follows_key) {
    fail_at(record.source, number, "data path", "one after no key", "one just after a tensor");
  }
  if (path.empty()) fail_at(record.source, number, "data path", "nothing", "a path after '!'");
  record.entries.back().path = path;
}

void add_entry(LayerRecord& record, std::size_t number, std::string_view line) {
  const std::size_t equals = line.find('=');
  const std::string_view key = line.substr(0, equals);
  if (equals == std::string_view::npos || !is_word(key)) {
    fail_at(record.source, number, "line", in_quotes(line), "key=value or !path");
  }
  if (const LayerEntry* earlier = record.find(key)) {
    fail_at(record.source, number, key, "a key that was there",
            fmt::format("it once, as in line {}", earlier->line));
  }
  record.entries.push_back({.key = std::string(key),
                            .value = std::string(line.substr(equals + 1)),
                            .path = {},
                            .line = static_cast<unsigned>(number)});
}

}  // namespace

const LayerEntry* LayerRecord::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const LayerEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

void LayerRecord::fail(std::string_view key, std::string_view got,
                       std::string_view expected) const {
  const LayerEntry* entry = find(key);
  fail_at(source, entry == nullptr ? 1 : entry->line, key, got, expected);
}

void LayerRecord::fail_path(std::string_view key, std::string_view got,
                            std::string_view expected) const {
  const LayerEntry* entry = find(key);
  const bool has_path = entry != nullptr && !entry->path.empty();
  fail_at(source, entry == nullptr ? 1 : entry->line + (has_path ? 1 : 0),
          fmt::format("data of {}", key), got, expected);
}

LayerRecord parse_record(std::string_view text, const std::string& source) {
  const std::vector<std::string_view> lines = lines_of(text, source);
  LayerRecord record{.source = source, .type = {}, .entries = {}};
  if (lines.empty()) fail_at(source, 1, "type", "an empty file", "the type of a layer");
  if (!is_word(lines[0])) fail_at(source, 1, "type", in_quotes(lines[0]), "the type of a layer");
  record.type = lines[0];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].starts_with('!')) {
      add_path(record, i + 1, lines[i].substr(1));
    } else {
      add_entry(record, i + 1, lines[i]);
    }
  }
  return record;
}

}  // namespace nibble::inline foreign
