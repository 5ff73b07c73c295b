// SPDX-License-Identifier: Apache-2.0
// Doubles between exact products and fp32 results: sums that no later rounding can tell from exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nibble/core/host_device.h"

namespace nibble::inline kernels::accumulation {

// x + y in 53 bits, rounded to odd: an inexact sum takes the neighbour whose last bit is 1. Such a
// double lies on the same side of every number of at most 52 bits as the exact sum does, so
// rounding it to at most 51 bits is rounding the exact sum: numbers and midpoints of the format
// have one bit more than its significand, 25 for fp32. Stochastic rounding splits a cell by r bits:
// precision + r <= 52.
NIBBLE_HOST_DEVICE inline double sum_to_odd(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  // Knuth's TwoSum: x + y = sum + error exactly.
  const double taken = sum - x;
  const double error = (x - (sum - taken)) + (y - taken);
  const bool is_odd = (std::bit_cast<std::uint64_t>(sum) & 1) != 0;
  if (error == 0 || is_odd) return sum;
  const double infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(sum, error > 0 ? infinity : -infinity);
}

// The result as fp32. One NaN: sign and payload of IEEE arithmetic differ between machines.
NIBBLE_HOST_DEVICE inline float stored(double value) {
  return std::isnan(value) ? __builtin_nanf("") : static_cast<float>(value);
}

}  // namespace nibble::inline kernels::accumulation
