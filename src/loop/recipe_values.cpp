// SPDX-License-Identifier: Apache-2.0
// Numbers of recipes in their ranges.
#include "loop/recipe_values.h"

#include <fmt/format.h>

namespace nibble {

double positive(TomlReader& table, std::string_view key, double otherwise, bool may_be_zero) {
  const double value = table.number(key).value_or(otherwise);
  if (!(value > 0 || (may_be_zero && value == 0)) || value > 1e9) {
    table.fail(key, fmt::format("{}", value), may_be_zero ? "a number from 0" : "a number above 0");
  }
  return value;
}

double share(TomlReader& table, std::string_view key, double otherwise) {
  const double value = table.number(key).value_or(otherwise);
  if (!(value >= 0 && value < 1)) table.fail(key, fmt::format("{}", value), "0 or more, below 1");
  return value;
}

}  // namespace nibble
