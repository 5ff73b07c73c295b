// SPDX-License-Identifier: Apache-2.0
// Takes the keys of a TOML table one by one, checks each, and knows in the end which were left.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/toml_value.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {

struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

class TomlReader {
 public:
  // `table` must outlive the reader. `place` stands before the keys in errors: "layers[2].".
  TomlReader(const TomlValue& table, std::string_view source, std::string_view op,
             std::string place = "");

  unsigned line() const { return table_.line; }

  // The value of a key, which counts as known from then on; null where it is absent.
  const TomlValue* find(std::string_view key);

  std::optional<bool> boolean(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, IntegerRange range);
  std::optional<double> number(std::string_view key);       // an integer is one too
  std::optional<std::string> string(std::string_view key);  // printable
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, IntegerRange range);
  std::optional<std::vector<double>> numbers(std::string_view key);
  std::optional<std::vector<std::string>> strings(std::string_view key);

  // Throws where the table has a key that was never asked for.
  void finish() const;

  // "[op] SOURCE:LINE: KEY: got …, expected …", with the line of the key where it is there.
  [[noreturn]] void fail(std::string_view key, std::string_view got, std::string_view expected,
                         ErrorKind kind = ErrorKind::input) const;
  // "…KEY: why"
  [[noreturn]] void fail(std::string_view key, std::string_view why,
                         ErrorKind kind = ErrorKind::input) const;

 private:
  [[noreturn]] void fail_at(unsigned line, std::string_view key, std::string_view got,
                            std::string_view expected, ErrorKind kind = ErrorKind::input) const;
  const TomlValue* value_of(std::string_view key) const;
  const TomlValue::Array* array(std::string_view key);
  std::int64_t integer_of(const TomlValue& value, std::string_view key, IntegerRange range) const;
  double number_of(const TomlValue& value, std::string_view key) const;
  std::string string_of(const TomlValue& value, std::string_view key) const;

  const TomlValue& table_;
  std::string source_;
  std::string op_;
  std::string place_;
  std::vector<std::string> known_;
};

}  // namespace nibble::inline graph
