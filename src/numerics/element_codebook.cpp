// SPDX-License-Identifier: Apache-2.0
// Codebooks: a table of values, the code its index.
#include "numerics/element_families.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "nibble/core/error.h"
#include "numerics/round_codebook.h"

namespace nibble::inline numerics {
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
  return round_codebook(c.values.data(), c.values.size(), x, rounding, draw);
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

}  // namespace nibble::inline numerics
