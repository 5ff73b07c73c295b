// SPDX-License-Identifier: Apache-2.0
// One number under one scale.
#include "numerics/scaled.h"

#include "numerics/round_scaled.h"

namespace nibble::inline numerics {

ScaledValue round_scaled(const Format& format, const GroupScale& group, double x,
                         const Rounding& rounding, Overflow overflow, std::uint32_t draw) {
  const auto rounded = [&](const auto& element) {
    return round_scaled_element(element, format.scaling.kind, group, x, rounding, overflow, draw);
  };
  if (const auto* table = std::get_if<CodebookElement>(&format.element)) {
    return rounded(CodebookTable{table->values.data(), table->values.size()});
  }
  if (const auto* f = std::get_if<FloatElement>(&format.element)) return rounded(*f);
  if (const auto* grid = std::get_if<GridElement>(&format.element)) return rounded(*grid);
  return rounded(std::get<PositElement>(format.element));
}

std::uint32_t encode_scaled(const Format& format, const GroupScale& group, double element) {
  if (group.zero == 0) return encode_value(format.element, element);
  const auto& grid = std::get<GridElement>(format.element);
  return encode_value(format.element, element + group.zero * grid.step());
}

double decode_scaled(const Format& format, const GroupScale& group, std::uint32_t code) {
  double element = decode_code(format.element, code);
  if (format.scaling.kind == ScaleKind::none) return element;
  if (group.zero != 0) element -= group.zero * std::get<GridElement>(format.element).step();
  const double value = element * static_cast<double>(group.scale);
  return format.scaling.kind == ScaleKind::power_of_two
             ? value
             : static_cast<double>(static_cast<float>(value));
}

}  // namespace nibble::inline numerics
