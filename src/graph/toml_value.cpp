// SPDX-License-Identifier: Apache-2.0
// The one place that knows toml++, whose headers take long to compile.
#include "graph/toml_value.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <array>
#include <utility>

#include "graph/toml_keys.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

TomlValue value_of(const toml::node& node) {
  TomlValue value;
  value.line = node.source().begin.line;
  if (const auto* table = node.as_table()) {
    TomlValue::Table pairs;
    pairs.reserve(table->size());
    for (const auto& [key, child] : *table) {
      pairs.push_back({std::string(key.str()), value_of(child)});
    }
    value.data = std::move(pairs);
  } else if (const auto* array = node.as_array()) {
    TomlValue::Array values;
    values.reserve(array->size());
    for (const toml::node& child : *array) values.push_back(value_of(child));
    value.data = std::move(values);
  } else if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.data = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.data = number->get();
  } else if (const auto* truth = node.as_boolean()) {
    value.data = truth->get();
  } else {
    value.data = TomlValue::Other{"a date or time"};
  }
  return value;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

}  // namespace

// toml++ bounds the nesting of values, and keys have been looked at, so the recursion is bounded
// too.
TomlValue parse_toml(std::string_view text, std::string_view source, std::string_view op) {
  check_toml_keys(text, source, op);
  try {
    return value_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw Error(
        op,
        fmt::format("{}:{}: {}", source, error.source().begin.line, one_line(error.description())),
        ErrorKind::input);
  }
}

std::string_view kind_of(const TomlValue& value) {
  constexpr std::array<std::string_view, 6> kKinds = {"true or false", "an integer", "a number",
                                                      "a string",      "a list",     "a table"};
  if (const auto* other = std::get_if<TomlValue::Other>(&value.data)) return other->what;
  return kKinds[value.data.index()];
}

}  // namespace nibble::inline graph
