// SPDX-License-Identifier: Apache-2.0
// Conversions of half and bfloat16 by integer arithmetic on the bits.
#include "core/half.h"

#include <bit>

namespace nibble::inline core {
namespace {

constexpr std::uint32_t kFloatInfinity = 0x7F800000u;
constexpr std::uint32_t kHalfQuiet = 0x0200u;
constexpr std::uint32_t kBfloatQuiet = 0x0040u;

// bits / 2^shift to nearest, ties to even; shift is 1 to 31.
constexpr std::uint32_t rounded_shift(std::uint32_t bits, std::uint32_t shift) {
  const std::uint32_t quotient = bits >> shift;
  const std::uint32_t rest = bits & ((1u << shift) - 1);
  const std::uint32_t tie = 1u << (shift - 1);
  return quotient + (rest > tie || (rest == tie && (quotient & 1u) != 0) ? 1u : 0u);
}

// Bits of the half nearest to a non-negative float.
constexpr std::uint32_t half_magnitude(std::uint32_t magnitude) {
  if (magnitude > kFloatInfinity) return 0x7C00u | kHalfQuiet | ((magnitude >> 13) & 0x03FFu);
  if (magnitude >= 0x47800000u) return 0x7C00u;  // 2^16
  const std::uint32_t exponent = magnitude >> 23;
  // From 2^-14 on: move the exponent bias from 127 to 15; a carry reaches infinity by itself.
  if (exponent >= 113) return rounded_shift(magnitude - (112u << 23), 13);
  // Below 2^-25 everything is zero; else the significand in units of 2^-24, the last subnormal.
  if (exponent < 102) return 0;
  return rounded_shift((magnitude & 0x007FFFFFu) | 0x00800000u, 126 - exponent);
}

}  // namespace

float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  const std::uint32_t fraction = half & 0x03FFu;
  if (exponent == 31) {
    const std::uint32_t payload = fraction == 0 ? 0 : fraction | kHalfQuiet;
    return std::bit_cast<float>(sign | kFloatInfinity | payload << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half_magnitude(bits & 0x7FFFFFFFu));
}

float float_from_bfloat(std::uint16_t bfloat) {
  return std::bit_cast<float>(std::uint32_t{bfloat} << 16);
}

std::uint16_t bfloat_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > kFloatInfinity) {
    return static_cast<std::uint16_t>(bits >> 16 | kBfloatQuiet);
  }
  return static_cast<std::uint16_t>(rounded_shift(bits, 16));
}

}  // namespace nibble::inline core
