// SPDX-License-Identifier: Apache-2.0
// Codebooks: a table of values, the code its index.
#include "numerics/element_codebook.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "nibble/core/error.h"
#include "nibble/numerics/quire.h"
#include "numerics/cell.h"

namespace nibble {
namespace {

// Sign of 2x - (low + high), exact whatever the exponents.
int versus_middle(double x, double low, double high) {
  Quire difference;
  difference.add_product(2, x);
  difference.add(-low);
  difference.add(-high);
  return difference.sign();
}

}  // namespace

ElementInfo describe_element(const CodebookElement& c) {
  ElementInfo info;
  info.code_bits = std::max(1, static_cast<int>(std::bit_width(c.values.size() - 1)));
  info.max = c.values.back();
  info.lowest = c.values.front();
  const auto above = std::upper_bound(c.values.begin(), c.values.end(), 0.0F);
  info.min_positive = above == c.values.end() ? 0 : *above;
  info.min_normal = info.min_positive;
  info.has_zero = std::binary_search(c.values.begin(), c.values.end(), 0.0F);
  return info;
}

void check_element(const CodebookElement& c) {
  if (c.values.size() < 2 || c.values.size() > 65536) {
    throw Error("format", "entries of a codebook", std::to_string(c.values.size()), "2 to 65536");
  }
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    if (!std::isfinite(c.values[i])) {
      throw Error("format", "entry of a codebook", std::to_string(c.values[i]), "a finite number");
    }
    if (i > 0 && !(c.values[i - 1] < c.values[i])) {
      throw Error("format", "entries of a codebook",
                  std::to_string(c.values[i - 1]) + " before " + std::to_string(c.values[i]),
                  "ascending values");
    }
  }
}

double round_element(const CodebookElement& c, double x, const Rounding& rounding, Overflow,
                     std::uint32_t draw) {
  // Entries are multiples of 2^-149: nearer to zero only the sign of x counts, and the quire holds
  // it.
  if (x != 0 && std::fabs(x) < 0x1p-200) x = std::copysign(0x1p-200, x);
  const auto above = std::upper_bound(c.values.begin(), c.values.end(), x,
                                      [](double value, float entry) { return value < entry; });
  if (above == c.values.begin()) return c.values.front();
  if (above == c.values.end() || *(above - 1) == x) return *(above - 1);
  const bool low_is_odd = ((above - 1 - c.values.begin()) & 1) != 0;
  const double low = *(above - 1);
  const double high = *above;
  const int middle = versus_middle(x, low, high);
  // `toward` is the neighbour of smaller magnitude, the lower one where both are equally large.
  const Cell cell = std::fabs(low) <= std::fabs(high) ? Cell{low, high, middle, low_is_odd}
                                                      : Cell{high, low, -middle, !low_is_odd};
  return goes_away(cell, x, rounding, draw) ? cell.away : cell.toward;
}

std::uint32_t encode_element(const CodebookElement& c, double value) {
  if (std::isnan(value)) throw Error("encode", "NaN in an element without a NaN code");
  const auto entry = std::lower_bound(c.values.begin(), c.values.end(), value,
                                      [](float e, double v) { return e < v; });
  if (entry == c.values.end() || *entry != value) {
    throw Error("encode", "value", std::to_string(value), "an entry of the codebook");
  }
  return static_cast<std::uint32_t>(entry - c.values.begin());
}

double decode_element(const CodebookElement& c, std::uint32_t code) {
  if (code >= c.values.size()) {
    throw Error("decode", "code out of range", std::to_string(code),
                "below " + std::to_string(c.values.size()));
  }
  return c.values[code];
}

}  // namespace nibble
