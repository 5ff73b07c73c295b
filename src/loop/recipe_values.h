// SPDX-License-Identifier: Apache-2.0
// Values of recipes that a table of TOML alone cannot check.
#pragma once

#include <string>
#include <string_view>

#include "graph/toml_reader.h"
#include "nibble/core/error.h"

namespace nibble {

// A word that `read` understands, which must be there; what is wrong with it, at its line.
template <class Read>
auto read_word(TomlReader& table, std::string_view key, const Read& read) {
  const std::string word = *table.string(key);
  try {
    return read(word);
  } catch (const Error& error) {
    table.fail(key, error.what(), input_kind(error));
  }
}

// Above 0, at most 1e9.
double positive(TomlReader& table, std::string_view key, double otherwise,
                bool may_be_zero = false);

// From 0, below 1.
double share(TomlReader& table, std::string_view key, double otherwise);

}  // namespace nibble
