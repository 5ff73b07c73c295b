// SPDX-License-Identifier: Apache-2.0
// The names of the roundings.
#include "laws/round_shift.h"

#include <array>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline laws {
namespace {

constexpr std::array kAll = {ShiftRounding::nearest, ShiftRounding::stochastic,
                             ShiftRounding::pseudo_stochastic};

}  // namespace

std::string_view name_of(ShiftRounding rounding) {
  switch (rounding) {
    case ShiftRounding::nearest:
      return "nearest";
    case ShiftRounding::stochastic:
      return "stochastic";
    case ShiftRounding::pseudo_stochastic:
      return "pseudo-stochastic";
  }
  return "unknown";
}

ShiftRounding shift_rounding_by_name(std::string_view name) {
  std::string names = "one of";
  for (const ShiftRounding rounding : kAll) {
    if (name_of(rounding) == name) return rounding;
    names.append(" ").append(name_of(rounding));
  }
  throw Error("shift_rounding", "name", name, names);
}

}  // namespace nibble::inline laws
