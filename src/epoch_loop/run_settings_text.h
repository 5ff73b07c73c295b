// SPDX-License-Identifier: Apache-2.0
// The part of recipes that says nothing of the arithmetic: read from TOML, told as JSON. And how
// all parts read values that a table of TOML alone cannot check.
#pragma once

#include <string>
#include <string_view>

#include "graph/toml_reader.h"
#include "nibble/core/error.h"
#include "nibble/epoch_loop/recipe_files.h"
#include "nibble/epoch_loop/run_settings.h"

namespace nibble::inline epoch_loop {

inline constexpr std::string_view kRecipeOp = "recipe";

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

Arithmetic read_arithmetic(TomlReader& table);  // the key `arith`; float where it is absent

// Takes its keys and leaves the others; a recipe without a name is called after its source, and one
// of another arithmetic is refused.
RunSettings read_run_settings(TomlReader& table, std::string_view source, Arithmetic expected);

// All settings that decide the numbers. The keys of `method`, how the network learns, and of
// `numbers`, the formats it learns in, stand among them; both are JSON objects.
std::string run_settings_json(const RunSettings& settings, std::string_view method,
                              std::string_view numbers);

}  // namespace nibble::inline epoch_loop
