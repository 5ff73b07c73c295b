// SPDX-License-Identifier: Apache-2.0
// The formats and roundings that tests of the simulated accumulator go through.
#pragma once

#include <vector>

#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels::accumulation {

inline std::vector<Rounding> kernel_roundings() {
  std::vector<Rounding> roundings = {{RoundingMode::nearest_even}, {RoundingMode::toward_zero}};
  for (const int bits : {1, 7, 16, 17, 32}) roundings.push_back({RoundingMode::stochastic, bits});
  return roundings;
}

inline Format plain(const Element& element) {
  return {element, {}};
}

// What tiles cover.
inline std::vector<Format> kernel_formats() {
  std::vector<Format> formats;
  for (const char* name : {"fp16", "bf16", "fp32", "e4m3", "e5m2", "e4m3fnuz", "e2m1", "e3m2"}) {
    formats.push_back(parse_format(name));
  }
  FloatElement odd = {.exponent_bits = 5, .mantissa_bits = 10, .bias = 15, .has_subnormals = false};
  formats.push_back(plain(odd));
  formats.push_back(plain(FloatElement{5, 2, 16, Specials::p3109}));
  formats.push_back(plain(FloatElement{8, 23, 512, Specials::finite}));
  formats.push_back(plain(FloatElement{8, 3, -256, Specials::fn}));
  formats.push_back(plain(FloatElement{1, 5, 0, Specials::finite}));
  formats.push_back(plain(GridElement{.bits = 16, .fraction_bits = 8, .is_integer = false}));
  formats.push_back(plain(GridElement{.bits = 8, .fraction_bits = -2, .is_symmetric = true}));
  formats.push_back(plain(GridElement{.bits = 8, .is_signed = false}));
  formats.push_back(plain(GridElement{.bits = 32, .fraction_bits = 20, .is_integer = false}));
  return formats;
}

inline std::vector<Overflow> overflows_of(const Format& format) {
  std::vector<Overflow> overflows = {Overflow::native, Overflow::saturate};
  const ElementInfo info = describe(format.element);
  const bool is_float = std::holds_alternative<FloatElement>(format.element);
  if (info.has_infinity) overflows.push_back(Overflow::infinity);
  if (info.has_nan && is_float) overflows.push_back(Overflow::nan);
  return overflows;
}

// What only the definition covers, and fp16.
inline std::vector<Format> other_formats() {
  std::vector<Format> formats = {parse_format("fp16"), parse_format("e8m0"), parse_format("e3m0")};
  formats.push_back(plain(PositElement{16, 1}));
  formats.push_back(plain(PositElement{32, 3}));
  formats.push_back(plain(CodebookElement{"", {-2.0F, -0.5F, 0.0F, 0.3F, 4.0F}}));
  formats.push_back(
      plain(GridElement{.bits = 8, .fraction_bits = 4, .clamps = false, .is_integer = false}));
  formats.push_back(plain(FloatElement{4, 3, 7, Specials::fn, true, false}));
  return formats;
}

inline std::vector<Rounding> all_roundings() {
  std::vector<Rounding> roundings;
  for (const RoundingMode mode :
       {RoundingMode::nearest_even, RoundingMode::nearest_away, RoundingMode::toward_zero,
        RoundingMode::up, RoundingMode::down, RoundingMode::to_odd, RoundingMode::stochastic}) {
    roundings.push_back({mode});
  }
  return roundings;
}

}  // namespace nibble::inline kernels::accumulation
