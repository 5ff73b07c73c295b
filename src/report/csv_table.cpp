// SPDX-License-Identifier: Apache-2.0
// Reads a table of comma-separated values.
#include "report/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/name.h"
#include "nibble/core/error.h"

namespace nibble::inline report {
namespace {

// The fields of a line; nothing where a quote is not closed or stands inside a plain field.
std::optional<std::vector<std::string>> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ',') {
      fields.emplace_back();
      continue;
    }
    if (line[i] != '"') {
      fields.back() += line[i];
      continue;
    }
    if (!fields.back().empty()) return std::nullopt;
    for (++i; i < line.size(); ++i) {
      if (line[i] == '"' && (i + 1 == line.size() || line[i + 1] != '"')) break;
      if (line[i] == '"') ++i;  // two of them are one
      fields.back() += line[i];
    }
    const bool is_closed = i < line.size();
    const bool is_end = i + 1 >= line.size() || line[i + 1] == ',';
    if (!is_closed || !is_end) return std::nullopt;
  }
  return fields;
}

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& path, std::string_view text)
    : path_(path.string()) {
  std::size_t number = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    std::optional<std::vector<std::string>> fields = fields_of(line);
    const std::string place = fmt::format("{} line {}", path_, number);
    if (!fields)
      throw Error("report", place, in_quotes(line), "fields whose quotes are closed",
                  ErrorKind::input);
    if (columns_.empty()) {
      columns_ = std::move(*fields);
      continue;
    }
    if (fields->size() != columns_.size()) {
      throw Error("report", place, fmt::format("{} fields", fields->size()),
                  fmt::format("{}", columns_.size()), ErrorKind::input);
    }
    rows_.push_back({.line = number, .fields = std::move(*fields)});
  }
}

std::optional<std::size_t> CsvTable::place_of(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

void CsvTable::require(std::string_view column) const {
  if (columns_.empty() || place_of(column)) return;  // nothing written yet
  throw Error("report", path_ + " line 1", fmt::format("no column '{}'", column),
              "a header that names it", ErrorKind::input);
}

void CsvTable::fail(std::size_t row, std::string_view column, std::string_view got,
                    std::string_view expected) const {
  throw Error("report", fmt::format("{} line {}: {}", path_, rows_[row].line, column), got,
              expected, ErrorKind::input);
}

std::string CsvTable::text(std::size_t row, std::string_view column) const {
  const std::optional<std::size_t> place = place_of(column);
  return place ? rows_[row].fields[*place] : "";
}

std::optional<double> CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string field = text(row, column);
  if (field.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) {
    fail(row, column, in_quotes(field), "a number");
  }
  return value;
}

std::int64_t CsvTable::whole(std::size_t row, std::string_view column) const {
  const std::string field = text(row, column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) {
    fail(row, column, in_quotes(field), "a whole number");
  }
  return value;
}

}  // namespace nibble::inline report
