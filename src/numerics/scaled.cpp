// SPDX-License-Identifier: Apache-2.0
// One number under one scale.
#include "numerics/scaled.h"

#include <algorithm>
#include <cmath>

namespace nibble {
namespace {

// Integers with a zero point hold n - zero for the n of the plain grid.
double round_grid(const GridElement& grid, int zero, double y, const Rounding& rounding,
                  std::uint32_t draw) {
  GridElement unbounded = grid;
  unbounded.clamps = false;
  const double rounded = round_to(unbounded, y, rounding, Overflow::native, draw);
  if (!grid.clamps || std::isnan(rounded)) return rounded;
  return std::clamp(rounded, (grid.lowest_n() - zero) * grid.step(),
                    (grid.highest_n() - zero) * grid.step());
}

double round_under_zero(const Format& format, int zero, double y, const Rounding& rounding,
                        Overflow overflow, std::uint32_t draw) {
  const auto* grid = std::get_if<GridElement>(&format.element);
  if (grid != nullptr && zero != 0) return round_grid(*grid, zero, y, rounding, draw);
  return round_to(format.element, y, rounding, overflow, draw);
}

}  // namespace

ScaledValue round_scaled(const Format& format, const GroupScale& group, double x,
                         const Rounding& rounding, Overflow overflow, std::uint32_t draw) {
  const double scale = group.scale;
  switch (format.scaling.kind) {
    case ScaleKind::none: {
      const double q = round_to(format.element, x, rounding, overflow, draw);
      return {q, q};
    }
    case ScaleKind::power_of_two: {
      const double q = round_to(format.element, x / scale, rounding, overflow, draw);
      return {q, q * scale};
    }
    default:
      break;
  }
  if (std::isnan(x)) return {x, x};
  if (scale == 0) return {0, 0};  // a two-level block too small for its scale
  const float y = static_cast<float>(x) / group.scale;
  const auto value_of = [&](double q) {
    return static_cast<double>(static_cast<float>(q * scale));
  };
  const double nearest = round_under_zero(format, group.zero, y, {}, overflow, 0);
  if (std::isfinite(x) && value_of(nearest) == x) return {nearest, value_of(nearest)};
  const double q = round_under_zero(format, group.zero, y, rounding, overflow, draw);
  return {q, value_of(q)};
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

}  // namespace nibble
