// SPDX-License-Identifier: Apache-2.0
// The arithmetic of QPyTorch 0.3.0 and of its posit fork. `literal` follows their fp32 operations
// one by one; otherwise the rule they stand for is computed without a rounding on the way.
#include "numerics/compat_qtorch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace nibble {
namespace {

using Bits = std::uint32_t;

constexpr Bits kSignMask = 0x80000000U;
constexpr Bits kExponentMask = 0x7F800000U;
constexpr Bits kMantissaMask = 0x007FFFFFU;
constexpr Bits kX86NaN = 0xFFC00000U;
constexpr int kMantissaBits = 23;
constexpr int kBias = 127;

Bits bits_of(float x) {
  return std::bit_cast<Bits>(x);
}
float float_of(Bits bits) {
  return std::bit_cast<float>(bits);
}
int exponent_field(Bits bits) {
  return static_cast<int>((bits & kExponentMask) >> kMantissaBits);
}

// Adds one half or the draw below the last kept bit, then clears the `dropped` low bits.
Bits cut(Bits bits, int dropped, const Rounding& rounding, std::uint32_t draw) {
  if (dropped == 0) return bits;  // the package shifts by -1 here and flips the sign (A6)
  const Bits noise = rounding.is_stochastic() ? draw >> (32 - dropped) : Bits{1} << (dropped - 1);
  return (bits + noise) & ~((Bits{1} << dropped) - 1);
}

// The number of largest magnitude with this exponent field and `mantissa_bits` mantissa bits.
Bits largest_of(Bits sign, int field, int mantissa_bits) {
  const Bits mantissa = kMantissaMask & ~(kMantissaMask >> mantissa_bits);
  return (sign & kSignMask) | static_cast<Bits>(field) << kMantissaBits | mantissa;
}

// floor(y + r) with r = draw / 2^32, or one half: ties go up. The differences are exact for y of
// 24 bits, so nothing is rounded before the decision.
double floor_plus(double y, const Rounding& rounding, std::uint32_t draw) {
  const double below = std::floor(y);
  if (below == y) return y;
  const double r = rounding.is_stochastic() ? std::ldexp(static_cast<double>(draw), -32) : 0.5;
  const bool goes_up = y > 0 ? y - below >= 1 - r : (below + 1) - y <= r;
  return goes_up ? below + 1 : below;
}

float round_fixed(const GridElement& g, bool literal, const Rounding& rounding, float x,
                  std::uint32_t draw) {
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

// v = x + 6·2^E puts every element of the group into the binades of 4·2^E, where the low bits of a
// word are multiples of one step; the sum is where bits are lost.
float block_literal(int wl, const Rounding& rounding, float max_abs, float x, std::uint32_t draw) {
  const Bits binade = bits_of(max_abs) & kExponentMask;
  const float base = 6 * float_of(binade);
  const Bits rebased = cut(bits_of(x + base), kMantissaBits - wl, rounding, draw);
  // From 2^126 on the base is infinite, and inf - inf on x86 is the NaN with its sign set.
  const float difference = float_of(rebased) - base;
  const Bits q = std::isnan(difference) ? kX86NaN : bits_of(difference);
  const int field = exponent_field(binade);
  return float_of(exponent_field(q) > field ? largest_of(q, field, wl - 2) : q);
}

float block_value(int wl, const Rounding& rounding, float max_abs, float x, std::uint32_t draw) {
  if (max_abs == 0) return 0;
  if (!std::isfinite(max_abs)) return std::numeric_limits<float>::quiet_NaN();
  const double step = std::ldexp(1.0, std::ilogb(max_abs) + 2 - wl);
  const double limit = std::ldexp(1.0, wl - 1) - 1;
  const double n = floor_plus(static_cast<double>(x) / step, rounding, draw);
  return static_cast<float>(std::clamp(n, -limit, limit) * step) + 0.0F;  // one zero
}

float round_block(int wl, bool literal, const Rounding& rounding, float max_abs, float x,
                  std::uint32_t draw) {
  return literal ? block_literal(wl, rounding, max_abs, x, draw)
                 : block_value(wl, rounding, max_abs, x, draw);
}

// Every exponent field is a binade: no infinity and no NaN below e = 8, where the fp32 ones show.
float float_0_3_0(const FloatElement& f, bool literal, const Rounding& rounding, float x,
                  std::uint32_t draw) {
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
float float_0_2_0(const FloatElement& f, const Rounding& rounding, float x, std::uint32_t draw) {
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
float package_scale(const Scaling& scaling) {
  return scaling.kind == ScaleKind::given ? 1.0F / scaling.scale : 1.0F;
}

float round_posit(const PositElement& p, float scale, float x) {
  const double q = round_to(p, static_cast<double>(x * scale), {});
  if (std::isnan(q)) return -std::numeric_limits<float>::infinity();  // NaR
  return static_cast<float>(q) / scale;
}

// Sign and nearest magnitude, the lower one in a tie. The search starts from an error of 1e5, so
// what is further away, infinity and NaN give 0; zero itself is no entry.
float round_table(const CodebookElement& c, float scale, float x) {
  const float y = x * scale;
  if (y == 0) return 0;
  float best = 0;
  float error = 1e5F;
  for (const float value : c.values) {
    if (value <= 0) continue;
    const float distance = std::fabs(value - std::fabs(y));
    if (distance >= error || std::isnan(distance)) continue;
    error = distance;
    best = value;
  }
  return (y < 0 ? -best : best) / scale;
}

}  // namespace

float compat_group_max(float max_abs, float x) {
  const float magnitude = std::fabs(x);
  return magnitude > max_abs || std::isnan(magnitude) ? magnitude : max_abs;
}

float compat_round(const Format& format, Compat compat, const Rounding& rounding,
                   float group_max_abs, float x, std::uint32_t draw) {
  const bool literal = compat != Compat::qtorch;
  if (const auto* grid = std::get_if<GridElement>(&format.element)) {
    return format.scaling.kind == ScaleKind::power_of_two
               ? round_block(grid->bits, literal, rounding, group_max_abs, x, draw)
               : round_fixed(*grid, literal, rounding, x, draw);
  }
  if (const auto* f = std::get_if<FloatElement>(&format.element)) {
    return compat == Compat::qtorch_plus ? float_0_2_0(*f, rounding, x, draw)
                                         : float_0_3_0(*f, literal, rounding, x, draw);
  }
  const float scale = package_scale(format.scaling);
  if (const auto* p = std::get_if<PositElement>(&format.element)) return round_posit(*p, scale, x);
  return round_table(std::get<CodebookElement>(format.element), scale, x);
}

}  // namespace nibble
