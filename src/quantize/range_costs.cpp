// SPDX-License-Identifier: Apache-2.0
// What a range costs, from bins: squared error and divergence.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "nibble/quantize/range.h"

namespace nibble {
namespace {

// The integer of x, in doubles.
double integer_of(double x, const QuantizationRange& range) {
  return std::clamp(std::round(x / static_cast<double>(range.step)),
                    static_cast<double>(range.grid.low), static_cast<double>(range.grid.high));
}

// ∫ from 0 to x of (t - step·m(t))² dt = m·step³ / 12 + r³ / 3 with m the integer of x and r = x -
// step·m: whole steps give step³ / 12 each, and past the ends m stays and r grows.
double error_integral(double x, const QuantizationRange& range) {
  const auto step = static_cast<double>(range.step);
  const double m = integer_of(x, range);
  const double r = x - step * m;
  return m * step * step * step / 12 + r * r * r / 3;
}

}  // namespace

double squared_error(std::span<const ValueBin> bins, const QuantizationRange& range) {
  double sum = 0;
  for (const ValueBin& bin : bins) {
    const double width = bin.high - bin.low;
    double mean = 0;
    if (width > 0) {
      mean = (error_integral(bin.high, range) - error_integral(bin.low, range)) / width;
    } else {
      const double r = bin.low - static_cast<double>(range.step) * integer_of(bin.low, range);
      mean = r * r;
    }
    sum += static_cast<double>(bin.count) * mean;
  }
  return sum;
}

double divergence(std::span<const ValueBin> bins, const QuantizationRange& range) {
  const double low = static_cast<double>(range.step) * static_cast<double>(range.grid.low);
  const double high = static_cast<double>(range.step) * static_cast<double>(range.grid.high);
  std::vector<double> inside;   // counts
  std::vector<double> integer;  // of each
  double below = 0;
  double above = 0;
  for (const ValueBin& bin : bins) {
    const double middle = (bin.low + bin.high) / 2;
    if (middle == 0) continue;
    const auto count = static_cast<double>(bin.count);
    if (middle < low) {
      below += count;
    } else if (middle > high) {
      above += count;
    } else {
      inside.push_back(count);
      integer.push_back(integer_of(middle, range));
    }
  }
  double kept = 0;
  for (const double count : inside) kept += count;
  if (kept == 0) return below + above == 0 ? 0 : HUGE_VAL;
  const double total = kept + below + above;
  double sum = 0;
  for (std::size_t begin = 0; begin < inside.size();) {
    std::size_t end = begin;
    double mass = 0;
    while (end < inside.size() && integer[end] == integer[begin]) mass += inside[end++];
    const double q = mass / (kept * static_cast<double>(end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      const double clipped = (i == 0 ? below : 0) + (i + 1 == inside.size() ? above : 0);
      const double p = (inside[i] + clipped) / total;
      sum += p * std::log(p / q);
    }
    begin = end;
  }
  return sum;
}

}  // namespace nibble
