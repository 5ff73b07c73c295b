// SPDX-License-Identifier: Apache-2.0
// The names of the packages that can be reproduced.
#include "nibble/numerics/compat.h"

#include <array>
#include <string>
#include <utility>

#include "nibble/core/error.h"

namespace nibble {
namespace {

constexpr std::array<std::pair<Compat, std::string_view>, 4> kNames = {
    {{Compat::none, "none"},
     {Compat::qtorch, "qtorch"},
     {Compat::qtorch_bits, "qtorch-bits"},
     {Compat::qtorch_plus, "qtorch+"}}};

}  // namespace

Compat parse_compat(std::string_view text) {
  std::string known;
  for (const auto& [compat, name] : kNames) {
    if (text == name) return compat;
    known.append(known.empty() ? "" : ", ").append(name);
  }
  throw Error("compat", "unknown package", "'" + std::string(text) + "'", known);
}

std::string_view to_string(Compat compat) {
  for (const auto& [value, name] : kNames) {
    if (value == compat) return name;
  }
  return "?";
}

}  // namespace nibble
