// SPDX-License-Identifier: Apache-2.0
// Typed access to TOML tables with errors that name source, line and key.
#include "graph/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

std::string shown(const TomlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return in_quotes(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&value.data)) return *truth ? "true" : "false";
  return std::string(kind_of(value));
}

std::string words_of(IntegerRange range) {
  if (range.most == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("an integer of {} or more", range.least);
  }
  return fmt::format("an integer, {} to {}", range.least, range.most);
}

}  // namespace

TomlReader::TomlReader(const TomlValue& table, std::string_view source, std::string_view op,
                       std::string place)
    : table_(table), source_(source), op_(op), place_(std::move(place)) {
  if (!std::holds_alternative<TomlValue::Table>(table.data)) {
    throw Error(op_,
                fmt::format("{}:{}: {}", source_, table.line, place_.substr(0, place_.size() - 1)),
                shown(table), "a table in braces", ErrorKind::input);
  }
}

const TomlValue* TomlReader::value_of(std::string_view key) const {
  for (const auto& [name, value] : std::get<TomlValue::Table>(table_.data)) {
    if (name == key) return &value;
  }
  return nullptr;
}

const TomlValue* TomlReader::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return value_of(key);
}

std::optional<bool> TomlReader::boolean(std::string_view key) {
  const TomlValue* value = find(key);
  if (value == nullptr) return {};
  if (const auto* truth = std::get_if<bool>(&value->data)) return *truth;
  fail(key, shown(*value), "true or false");
}

std::optional<std::int64_t> TomlReader::integer(std::string_view key, IntegerRange range) {
  const TomlValue* value = find(key);
  if (value == nullptr) return {};
  return integer_of(*value, key, range);
}

std::optional<double> TomlReader::number(std::string_view key) {
  const TomlValue* value = find(key);
  if (value == nullptr) return {};
  return number_of(*value, key);
}

std::optional<std::string> TomlReader::string(std::string_view key) {
  const TomlValue* value = find(key);
  if (value == nullptr) return {};
  return string_of(*value, key);
}

std::optional<std::vector<std::int64_t>> TomlReader::integers(std::string_view key,
                                                              IntegerRange range) {
  const TomlValue::Array* list = array(key);
  if (list == nullptr) return {};
  std::vector<std::int64_t> result;
  for (const TomlValue& value : *list) result.push_back(integer_of(value, key, range));
  return result;
}

std::optional<std::vector<double>> TomlReader::numbers(std::string_view key) {
  const TomlValue::Array* list = array(key);
  if (list == nullptr) return {};
  std::vector<double> result;
  for (const TomlValue& value : *list) result.push_back(number_of(value, key));
  return result;
}

std::optional<std::vector<std::string>> TomlReader::strings(std::string_view key) {
  const TomlValue::Array* list = array(key);
  if (list == nullptr) return {};
  std::vector<std::string> result;
  for (const TomlValue& value : *list) result.push_back(string_of(value, key));
  return result;
}

void TomlReader::finish() const {
  for (const auto& [key, value] : std::get<TomlValue::Table>(table_.data)) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    fail_at(value.line, in_quotes(key), "an unknown key",
            fmt::format("one of {}", fmt::join(known_, ", ")));
  }
}

void TomlReader::fail(std::string_view key, std::string_view got, std::string_view expected,
                      ErrorKind kind) const {
  const TomlValue* value = value_of(key);
  fail_at(value == nullptr ? table_.line : value->line, key, got, expected, kind);
}

void TomlReader::fail(std::string_view key, std::string_view why, ErrorKind kind) const {
  const TomlValue* value = value_of(key);
  const unsigned line = value == nullptr ? table_.line : value->line;
  throw Error(op_, fmt::format("{}:{}: {}{}: {}", source_, line, place_, key, why), kind);
}

void TomlReader::fail_at(unsigned line, std::string_view key, std::string_view got,
                         std::string_view expected, ErrorKind kind) const {
  throw Error(op_, fmt::format("{}:{}: {}{}", source_, line, place_, key), got, expected, kind);
}

const TomlValue::Array* TomlReader::array(std::string_view key) {
  const TomlValue* value = find(key);
  if (value == nullptr) return nullptr;
  if (const auto* list = std::get_if<TomlValue::Array>(&value->data)) return list;
  fail(key, shown(*value), "a list");
}

std::int64_t TomlReader::integer_of(const TomlValue& value, std::string_view key,
                                    IntegerRange range) const {
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  if (integer == nullptr || *integer < range.least || *integer > range.most) {
    fail_at(value.line, key, shown(value), words_of(range));
  }
  return *integer;
}

double TomlReader::number_of(const TomlValue& value, std::string_view key) const {
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return static_cast<double>(*integer);
  }
  fail_at(value.line, key, shown(value), "a number");
}

std::string TomlReader::string_of(const TomlValue& value, std::string_view key) const {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr) fail_at(value.line, key, shown(value), "a string");
  if (!is_printable(*text)) {
    fail_at(value.line, key, shown(value), "a string without control characters");
  }
  return *text;
}

}  // namespace nibble::inline graph
