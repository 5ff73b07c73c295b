// SPDX-License-Identifier: Apache-2.0
// The arithmetic of QPyTorch 0.3.0 and of its posit fork. `literal` follows their fp32 operations
// one by one; otherwise the rule they stand for is computed without a rounding on the way.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "nibble/core/host_device.h"
#include "nibble/numerics/compat.h"
#include "nibble/numerics/scaling.h"
#include "numerics/round_posit.h"

namespace nibble::inline numerics::packages {

using Bits = std::uint32_t;

inline constexpr Bits kSignMask = 0x80000000U;
inline constexpr Bits kExponentMask = 0x7F800000U;
inline constexpr Bits kMantissaMask = 0x007FFFFFU;
inline constexpr Bits kX86NaN = 0xFFC00000U;
inline constexpr Bits kQuiet = 0x00400000U;
inline constexpr int kMantissaBits = 23;
inline constexpr int kBias = 127;

NIBBLE_HOST_DEVICE inline Bits bits_of(float x) {
  return std::bit_cast<Bits>(x);
}
NIBBLE_HOST_DEVICE inline float float_of(Bits bits) {
  return std::bit_cast<float>(bits);
}
NIBBLE_HOST_DEVICE inline int exponent_field(Bits bits) {
  return static_cast<int>((bits & kExponentMask) >> kMantissaBits);
}

// Adds one half or the draw below the last kept bit, then clears the `dropped` low bits.
NIBBLE_HOST_DEVICE inline Bits cut(Bits bits, int dropped, const Rounding& rounding,
                                   std::uint32_t draw) {
  if (dropped == 0) return bits;  // the package shifts by -1 here and flips the sign (A6)
  const Bits noise = rounding.is_stochastic() ? draw >> (32 - dropped) : Bits{1} << (dropped - 1);
  return (bits + noise) & ~((Bits{1} << dropped) - 1);
}

// The number of largest magnitude with this exponent field and `mantissa_bits` mantissa bits.
NIBBLE_HOST_DEVICE inline Bits largest_of(Bits sign, int field, int mantissa_bits) {
  const Bits mantissa = kMantissaMask & ~(kMantissaMask >> mantissa_bits);
  return (sign & kSignMask) | static_cast<Bits>(field) << kMantissaBits | mantissa;
}

// floor(y + r) with r = draw / 2^32, or one half: ties go up. The differences are exact for y of
// 24 bits, so nothing is rounded before the decision.
NIBBLE_HOST_DEVICE inline double floor_plus(double y, const Rounding& rounding,
                                            std::uint32_t draw) {
  const double below = std::floor(y);
  if (below == y) return y;
  const double r = rounding.is_stochastic() ? std::ldexp(static_cast<double>(draw), -32) : 0.5;
  const bool goes_up = y > 0 ? y - below >= 1 - r : (below + 1) - y <= r;
  return goes_up ? below + 1 : below;
}

NIBBLE_HOST_DEVICE inline float round_fixed(const GridElement& g, bool literal,
                                            const Rounding& rounding, float x, std::uint32_t draw) {
  if (std::isnan(x)) return float_of(bits_of(x) | kQuiet);
  const float y = std::ldexp(x, g.fraction_bits);
  const float r = rounding.is_stochastic() ? std::ldexp(static_cast<float>(draw >> 8), -24) : 0.5F;
  const float shifted = y + r;
  double n = std::nearbyint(static_cast<double>(shifted) - 0.5);
  if (!literal) {
    const double exact = rounding.is_stochastic() ? floor_plus(y, rounding, draw)
                                                  : std::nearbyint(static_cast<double>(y));
    if (exact != n) n = exact;  // where they are equal, the package's sign of zero stays
  }
  const float z = std::ldexp(static_cast<float>(n), -g.fraction_bits);
  if (!g.clamps) return z;
  const auto highest = static_cast<float>(g.highest_n() * g.step());
  const auto lowest = static_cast<float>(g.lowest_n() * g.step());
  return z > highest ? highest : z < lowest ? lowest : z;
}

// NaN as x86 has it: the first operand's, else the second's, else the one with its sign set.
NIBBLE_HOST_DEVICE inline float x86_sum(float a, float b) {
  if (std::isnan(a)) return float_of(bits_of(a) | kQuiet);
  if (std::isnan(b)) return float_of(bits_of(b) | kQuiet);
  const float sum = a + b;
  return std::isnan(sum) ? float_of(kX86NaN) : sum;
}

// v = x + 6·2^E puts every element of the group into the binades of 4·2^E, where the low bits of a
// word are multiples of one step; the sum is where bits are lost.
NIBBLE_HOST_DEVICE inline float block_literal(int wl, const Rounding& rounding, float max_abs,
                                              float x, std::uint32_t draw) {
  const Bits binade = bits_of(max_abs) & kExponentMask;
  const float base = 6 * float_of(binade);
  const Bits rebased = cut(bits_of(x86_sum(x, base)), kMantissaBits - wl, rounding, draw);
  // From 2^126 on the base is infinite, and inf - inf on x86 is the NaN with its sign set.
  const float difference = float_of(rebased) - base;
  const Bits q = std::isnan(difference) ? kX86NaN : bits_of(difference);
  const int field = exponent_field(binade);
  return float_of(exponent_field(q) > field ? largest_of(q, field, wl - 2) : q);
}

NIBBLE_HOST_DEVICE inline float block_value(int wl, const Rounding& rounding, float max_abs,
                                            float x, std::uint32_t draw) {
  if (max_abs == 0) return 0;
  if (!std::isfinite(max_abs)) return std::numeric_limits<float>::quiet_NaN();
  const double step = std::ldexp(1.0, std::ilogb(max_abs) + 2 - wl);
  const double limit = std::ldexp(1.0, wl - 1) - 1;
  const double n = floor_plus(static_cast<double>(x) / step, rounding, draw);
  return static_cast<float>((n < -limit  ? -limit
                             : n > limit ? limit
                                         : n) *
                            step) +
         0.0F;  // one zero
}

NIBBLE_HOST_DEVICE inline float round_block(int wl, bool literal, const Rounding& rounding,
                                            float max_abs, float x, std::uint32_t draw) {
  return literal ? block_literal(wl, rounding, max_abs, x, draw)
                 : block_value(wl, rounding, max_abs, x, draw);
}

// Every exponent field is a binade: no infinity and no NaN below e = 8, where the fp32 ones show.
NIBBLE_HOST_DEVICE inline float float_0_3_0(const FloatElement& f, bool literal,
                                            const Rounding& rounding, float x, std::uint32_t draw) {
  const int half_range = 1 << (f.exponent_bits - 1);
  const int dropped = kMantissaBits - f.mantissa_bits;
  const int top_field = std::min(kBias + half_range, 255);
  const float min_normal = std::ldexp(1.0F, 2 - half_range);
  const Bits bits = bits_of(x);
  if ((bits & ~kSignMask) >= bits_of(min_normal)) {
    if (!literal && std::isnan(x)) {
      return top_field == 255 ? x : float_of(largest_of(bits, top_field, f.mantissa_bits));
    }
    const Bits w = cut(bits, dropped, rounding, draw);
    const bool overflows = exponent_field(w) > top_field;
    return float_of(overflows ? largest_of(bits, top_field, f.mantissa_bits) : w);
  }
  if (literal) {
    const float base = std::copysign(min_normal, x);
    return float_of(cut(bits_of(x + base), dropped, rounding, draw)) - base;
  }
  const double step = std::ldexp(1.0, 2 - half_range - f.mantissa_bits);
  const double n = floor_plus(std::fabs(static_cast<double>(x)) / step, rounding, draw);
  return std::copysign(static_cast<float>(n * step), x) + 0.0F;  // one zero
}

// No subnormals: exponent field 0 is a binade like the others, and below it is the least or zero.
NIBBLE_HOST_DEVICE inline float float_0_2_0(const FloatElement& f, const Rounding& rounding,
                                            float x, std::uint32_t draw) {
  const int half_range = (1 << (f.exponent_bits - 1)) - 1;
  const Bits bits = bits_of(x);
  const Bits w = cut(bits, kMantissaBits - f.mantissa_bits, rounding, draw);
  const int top_field = kBias + half_range;
  if (exponent_field(w) > top_field) return float_of(largest_of(bits, top_field, f.mantissa_bits));
  const int least_field = kBias - half_range;
  if (exponent_field(w) >= least_field) return float_of(w);
  const Bits half_of_least = static_cast<Bits>(least_field - 1) << kMantissaBits;
  if ((w & ~kSignMask) <= half_of_least) return 0;
  return float_of((bits & kSignMask) | static_cast<Bits>(least_field) << kMantissaBits);
}

// The packages multiply by their scale first and divide by it last.
NIBBLE_HOST_DEVICE inline float package_scale(const Scaling& scaling) {
  return scaling.kind == ScaleKind::given ? 1.0F / scaling.scale : 1.0F;
}

NIBBLE_HOST_DEVICE inline float round_posit(const PositElement& p, float scale, float x) {
  const auto y = static_cast<double>(x * scale);
  const double q = std::isnan(y) ? y : round_element(p, y, {}, Overflow::native, 0);
  if (std::isnan(q)) return -std::numeric_limits<float>::infinity();  // NaR
  return static_cast<float>(q) / scale;
}

// Sign and nearest magnitude, the lower one in a tie. The search starts from an error of 1e5, so
// what is further away, infinity and NaN give 0; zero itself is no entry.
NIBBLE_HOST_DEVICE inline float round_table(const float* values, std::size_t count, float scale,
                                            float x) {
  const float y = x * scale;
  if (y == 0) return 0;
  float best = 0;
  float error = 1e5F;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = values[i];
    if (value <= 0) continue;
    const float distance = std::fabs(value - std::fabs(y));
    if (distance >= error || std::isnan(distance)) continue;
    error = distance;
    best = value;
  }
  return (y < 0 ? -best : best) / scale;
}

}  // namespace nibble::inline numerics::packages
