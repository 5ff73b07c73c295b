// SPDX-License-Identifier: Apache-2.0
// One number under one scale: the specification, over any kind of element.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "nibble/core/host_device.h"
#include "numerics/element_codes.h"
#include "numerics/round_codebook.h"
#include "numerics/round_float.h"
#include "numerics/round_grid.h"
#include "numerics/round_posit.h"
#include "numerics/scaled.h"

namespace nibble::inline numerics {

// A codebook wherever its values are.
struct CodebookTable {
  const float* values = nullptr;
  std::size_t count = 0;
};

NIBBLE_HOST_DEVICE inline double round_element(const CodebookTable& c, double x,
                                               const Rounding& rounding, Overflow,
                                               std::uint32_t draw) {
  return round_codebook(c.values, c.count, x, rounding, draw);
}

NIBBLE_HOST_DEVICE inline std::uint32_t code_of_value(const CodebookTable& c, double value) {
  std::size_t low = 0;
  std::size_t high = c.count - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (static_cast<double>(c.values[middle]) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<std::uint32_t>(low);
}

NIBBLE_HOST_DEVICE inline double value_of_code(const CodebookTable& c, std::uint32_t code) {
  return code < c.count ? c.values[code] : std::numeric_limits<double>::quiet_NaN();
}

template <class E>
NIBBLE_HOST_DEVICE inline double round_or_nan(const E& element, double x, const Rounding& rounding,
                                              Overflow overflow, std::uint32_t draw) {
  return std::isnan(x) ? x : round_element(element, x, rounding, overflow, draw);
}

template <class E>
NIBBLE_HOST_DEVICE inline double round_under_zero(const E& element, int, double y,
                                                  const Rounding& rounding, Overflow overflow,
                                                  std::uint32_t draw) {
  return round_or_nan(element, y, rounding, overflow, draw);
}

// Integers with a zero point hold n - zero for the n of the plain grid.
NIBBLE_HOST_DEVICE inline double round_under_zero(const GridElement& grid, int zero, double y,
                                                  const Rounding& rounding, Overflow overflow,
                                                  std::uint32_t draw) {
  if (zero == 0) return round_or_nan(grid, y, rounding, overflow, draw);
  GridElement unbounded = grid;
  unbounded.clamps = false;
  const double rounded = round_or_nan(unbounded, y, rounding, Overflow::native, draw);
  if (!grid.clamps || std::isnan(rounded)) return rounded;
  return std::clamp(rounded, (grid.lowest_n() - zero) * grid.step(),
                    (grid.highest_n() - zero) * grid.step());
}

// numerics/scaled.h says what this is.
template <class E>
NIBBLE_HOST_DEVICE inline ScaledValue round_scaled_element(const E& element, ScaleKind kind,
                                                           const GroupScale& group, double x,
                                                           const Rounding& rounding,
                                                           Overflow overflow, std::uint32_t draw) {
  const double scale = group.scale;
  if (kind == ScaleKind::none) {
    const double q = round_or_nan(element, x, rounding, overflow, draw);
    return {q, q};
  }
  if (kind == ScaleKind::power_of_two) {
    const double q = round_or_nan(element, x / scale, rounding, overflow, draw);
    return {q, q * scale};
  }
  if (std::isnan(x)) return {x, x};
  if (scale == 0) return {0, 0};  // a two-level block too small for its scale
  const float y = static_cast<float>(x) / group.scale;
  const auto value_of = [&](double q) {
    return static_cast<double>(static_cast<float>(q * scale));
  };
  const double nearest = round_under_zero(element, group.zero, y, Rounding{}, overflow, 0);
  if (std::isfinite(x) && value_of(nearest) == x) return {nearest, value_of(nearest)};
  const double q = round_under_zero(element, group.zero, y, rounding, overflow, draw);
  return {q, value_of(q)};
}

}  // namespace nibble::inline numerics
