// SPDX-License-Identifier: Apache-2.0
// A TOML text as a tree of plain values that know their line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nibble::inline graph {

struct TomlEntry;

struct TomlValue {
  using Array = std::vector<TomlValue>;
  using Table = std::vector<TomlEntry>;  // keys ascend
  struct Other {                         // dates and times
    std::string_view what;
  };

  std::variant<bool, std::int64_t, double, std::string, Array, Table, Other> data;
  unsigned line = 0;
};

struct TomlEntry {
  std::string key;
  TomlValue value;
};

// `source` is used in errors: "[op] SOURCE:LINE: why".
TomlValue parse_toml(std::string_view text, std::string_view source, std::string_view op);

// For errors: "an integer", "a list", …
std::string_view kind_of(const TomlValue& value);

}  // namespace nibble::inline graph
