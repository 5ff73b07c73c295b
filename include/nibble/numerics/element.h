// SPDX-License-Identifier: Apache-2.0
// Which numbers exist: the element half of a format, with its scalar definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nibble/core/host_device.h"
#include "nibble/numerics/rounding.h"

namespace nibble::inline numerics {

// What the codes at the edge of a float mean.
enum class Specials : std::uint8_t {
  ieee,    // all-ones exponent: infinity (mantissa 0) and NaN
  finite,  // every code is a number
  fn,      // one NaN a sign: all bits ones; no infinity (OCP E4M3)
  fnuz,    // one NaN in the code of -0; no infinity, no -0
  p3109,   // as fnuz, and the code of largest magnitude is infinity (IEEE P3109, extended)
};

// sign | exponent | mantissa. Exponent field 0 is subnormal, or zero alone where there are none.
struct FloatElement {
  int exponent_bits = 8;   // 1 to 8
  int mantissa_bits = 23;  // 0 to 23
  int bias = 127;
  Specials specials = Specials::ieee;
  bool has_subnormals = true;
  bool is_signed =
      true;  // unsigned: NaN is the top code (fn, p3109), infinity the one below (p3109)
  bool has_zero = true;  // e8m0 has none: exponent field 0 is a normal binade

  bool operator==(const FloatElement&) const = default;
};

// n · 2^-fraction_bits with n an integer of `bits` bits: fixed point, intN and uintN.
struct GridElement {
  int bits = 8;
  int fraction_bits = 0;  // may be zero or negative
  bool is_signed = true;
  bool is_symmetric = false;  // the most negative n is not used
  bool clamps = true;         // otherwise n is not bounded by `bits`
  bool is_integer = true;     // written intN / uintN rather than fixed(wl, fl)

  NIBBLE_HOST_DEVICE double step() const { return std::ldexp(1.0, -fraction_bits); }
  NIBBLE_HOST_DEVICE double lowest_n() const {
    return is_signed ? -std::ldexp(1.0, bits - 1) + (is_symmetric ? 1 : 0) : 0;
  }
  NIBBLE_HOST_DEVICE double highest_n() const {
    return std::ldexp(1.0, bits - (is_signed ? 1 : 0)) - 1;
  }

  bool operator==(const GridElement&) const = default;
};

// Posits as the 2022 standard has them, for any es.
struct PositElement {
  int bits = 8;           // 2 to 32
  int exponent_bits = 2;  // 0 to 3

  bool operator==(const PositElement&) const = default;
};

// A table of values in ascending order; the code is the index.
struct CodebookElement {
  std::string name;  // empty for a table of the user's own
  std::vector<float> values;

  bool operator==(const CodebookElement&) const = default;
};

using Element = std::variant<FloatElement, GridElement, PositElement, CodebookElement>;

struct ElementInfo {
  int code_bits = 0;
  double max = 0;           // largest finite value
  double lowest = 0;        // smallest finite value (most negative)
  double min_positive = 0;  // smallest value above zero
  double min_normal = 0;    // floats: smallest with full precision; otherwise min_positive
  int precision_bits = 0;   // significant bits at most, the hidden one included; codebooks: 0
  bool has_infinity = false;
  bool has_nan = false;
  bool has_zero = true;
  bool has_negative_zero = false;
  bool decodes_to_fp32 = true;  // every value is an fp32 value
  bool quantizes_fp32 = true;   // rounding an fp32 value gives an fp32 value
};

ElementInfo describe(const Element& element);

// Throws unless the parameters are in range and the element holds a finite value other than zero.
void check(const Element& element);

// The specification of rounding. `x` is taken exactly; `draw` has rounding.random_bits bits and
// matters only for stochastic rounding. NaN gives NaN.
double round_to(const Element& element, double x, const Rounding& rounding,
                Overflow overflow = Overflow::native, std::uint32_t draw = 0);

// Code of a value the element holds (as round_to gives it). NaN needs an element that has one.
std::uint32_t encode_value(const Element& element, double value);

// Value of a code; codes beyond a codebook's table and bits above code_bits are refused.
double decode_code(const Element& element, std::uint32_t code);

}  // namespace nibble::inline numerics
