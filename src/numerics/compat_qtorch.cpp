// SPDX-License-Identifier: Apache-2.0
// QPyTorch 0.3.0 and its posit fork: their names, and their arithmetic one number at a time.
#include "numerics/compat_qtorch.h"

#include <cmath>
#include <string>

#include "nibble/core/error.h"
#include "numerics/compat_rounding.h"
#include "numerics/words.h"

namespace nibble::inline numerics {
namespace {

constexpr WordTable<Compat, 4> kNames = {{{Compat::none, "none"},
                                          {Compat::qtorch, "qtorch"},
                                          {Compat::qtorch_bits, "qtorch-bits"},
                                          {Compat::qtorch_plus, "qtorch+"}}};

}  // namespace

Compat parse_compat(std::string_view text) {
  if (const auto compat = value_of(kNames, text)) return *compat;
  throw Error("compat", "unknown package", "'" + std::string(text) + "'", list_of(kNames));
}

std::string_view to_string(Compat compat) {
  return word_of(kNames, compat);
}

float compat_group_max(float max_abs, float x) {
  const float magnitude = std::fabs(x);
  return magnitude > max_abs || std::isnan(magnitude) ? magnitude : max_abs;
}

float compat_round(const Format& format, Compat compat, const Rounding& rounding,
                   float group_max_abs, float x, std::uint32_t draw) {
  using namespace packages;
  const bool literal = compat != Compat::qtorch;
  if (const auto* grid = std::get_if<GridElement>(&format.element)) {
    return format.scaling.kind == ScaleKind::power_of_two
               ? round_block(grid->bits, literal, rounding, group_max_abs, x, draw)
               : round_fixed(*grid, literal, rounding, x, draw);
  }
  if (const auto* f = std::get_if<FloatElement>(&format.element)) {
    return compat == Compat::qtorch_plus ? float_0_2_0(*f, rounding, x, draw)
                                         : float_0_3_0(*f, literal, rounding, x, draw);
  }
  const float scale = package_scale(format.scaling);
  if (const auto* p = std::get_if<PositElement>(&format.element)) return round_posit(*p, scale, x);
  const auto& values = std::get<CodebookElement>(format.element).values;
  return round_table(values.data(), values.size(), scale, x);
}

}  // namespace nibble::inline numerics
