// SPDX-License-Identifier: Apache-2.0
// Batch norm in integers, channel by channel: statistics from exact sums, what is kept of them from
// batch to batch, the value, the error that is passed on, and what is left of it in a frozen
// network. docs/integer-training.md has the law in words; every bound below is of numbers within
// those stated here. "Off by" is the distance to the real numbers of the formula; tests/integers
// compares it with exact rationals. There μ = Σv / N, σ² = Σ(v - μ)² / N and ε, x = γ/σ in the unit
// of the line, d = ⌊2^15·σ⌋.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "laws/integer_laws.h"
#include "laws/rescale.h"
#include "laws/round_shift.h"
#include "laws/wide_division.h"
#include "nibble/core/host_device.h"

namespace nibble::inline laws {

inline constexpr int kNormValueBits = 15;  // of the values that are normalized: |v| <= 32,767
inline constexpr int kNormUnitBits = 15;   // means and deviations count 2^-15 of a value's unit
inline constexpr int kNormFractionBits = 16;
inline constexpr int kNormScaleExponent = -kNormFractionBits;             // γ and β count 2^-16
inline constexpr std::int32_t kNormScaleMost = 127 << kNormFractionBits;  // |γ|, |β| <= 127
inline constexpr std::int32_t kNormScaleLeast = 1 << 8;                   // |γ| >= 2^-8
inline constexpr std::int64_t kNormMostNumbers = INT64_C(0x7FFFFFFF);     // of a channel in a batch
inline constexpr int kNormEpsilonExponent = -17;  // what is added to a variance: 2^-17
inline constexpr int kNormErrorBits = 8;          // errors are passed on in 2^-8 of a value's unit
inline constexpr std::int64_t kNormBiasMost = std::int64_t{1} << 30;
inline constexpr int kNormMultiplierBits = 30;
inline constexpr std::int64_t kNormMeanMost = std::int64_t{1} << 30;
inline constexpr std::int64_t kNormSpreadMost = std::int64_t{1} << 60;
inline constexpr std::int64_t kNormVarianceLeast = std::int64_t{1} << 30;
inline constexpr std::int64_t kNormVarianceMost = std::int64_t{1} << 61;

// The shift that brings sums of products with these weights to 15 bits, whatever the input is:
// they reach at most 127·Σ|w|.
NIBBLE_HOST_DEVICE constexpr int norm_sum_shift(std::int64_t sum_of_magnitudes) {
  return std::max(bits_of(static_cast<std::uint64_t>(127 * sum_of_magnitudes)) - kNormValueBits, 0);
}

// Of every output of a weight (out, …).
std::vector<int> norm_sum_shifts(std::span<const std::int8_t> weight, std::size_t outputs);

template <class Signed = std::int64_t>
NIBBLE_HOST_DEVICE constexpr std::int16_t norm_value(std::type_identity_t<Signed> sum, int shift) {
  constexpr Signed kMost = (1 << kNormValueBits) - 1;
  const Signed rounded = rounded_shift<Signed>(sum, shift);
  return static_cast<std::int16_t>(rounded < -kMost ? -kMost : (rounded > kMost ? kMost : rounded));
}

// Exact sums of one channel over all images and pixels of all ranks.
struct NormSums {
  std::int64_t values = 0;   // Σ v
  std::int64_t squares = 0;  // Σ v²
  std::int32_t least = 0;
  std::int32_t most = 0;
};

// Around what the numbers of a channel lie, and how far from it, without ε.
struct NormMoments {
  std::int64_t mean = 0;    // in 2^-15 of a unit 2^exponent; |mean| <= 2^30
  std::int64_t spread = 0;  // in 2^-30 of its square, 0 to 2^60
  std::int64_t exponent = 0;
  bool operator==(const NormMoments&) const = default;
};

// Of `count` numbers, 1 to 2^31 - 1, in units of 2^exponent: (N·Σv² - (Σv)²)·2^30 has 122 bits. To
// divide by N twice, rounding down, is to divide by N². The mean is off by half a unit at most.
NIBBLE_HOST_DEVICE constexpr NormMoments norm_moments(const NormSums& sums, std::int64_t count,
                                                      int exponent) {
  const auto n = static_cast<std::uint64_t>(count);
  const Int128 deviations = Int128{sums.squares} * count - Int128{sums.values} * sums.values;
  const auto scaled = static_cast<UInt128>(deviations) << (2 * kNormUnitBits);
  return {.mean = quotient_to_nearest(Int128{sums.values} * (1 << kNormUnitBits), n),
          .spread = static_cast<std::int64_t>(quotient(scaled, n * n)),
          .exponent = exponent};
}

struct NormStatistics {
  std::int64_t mean = 0;      // in 2^-15 of the value's unit; |mean| <= 2^30
  std::int64_t variance = 0;  // in 2^-30 of its square, with ε, 2^30 <= variance <= 2^61

  NIBBLE_HOST_DEVICE constexpr std::int64_t deviation() const {  // in 2^-15, from 2^15 to 2^31
    return static_cast<std::int64_t>(whole_root(static_cast<std::uint64_t>(variance)));
  }
};

// Of a batch: variance = ⌊2^30·σ²⌋, so that deviation() = ⌊2^15·σ⌋ to the last bit.
NIBBLE_HOST_DEVICE constexpr NormStatistics norm_statistics(const NormMoments& moments) {
  const std::int64_t epsilon =
      std::clamp<std::int64_t>(kNormEpsilonExponent - 2 * moments.exponent, 0, 2 * kNormUnitBits);
  return {.mean = moments.mean,
          .variance = moments.spread + (std::int64_t{1} << (epsilon + 2 * kNormUnitBits))};
}

// x·2^-s to the nearest, ties away from zero; held within ±most, a power of two, where s < 0.
NIBBLE_HOST_DEVICE constexpr std::int64_t norm_moved(std::int64_t x, std::int64_t s,
                                                     std::int64_t most) {
  if (s >= 0) return rounded_shift(x, static_cast<int>(s < 62 ? s : 62));
  const int lift = s > -62 ? static_cast<int>(-s) : 62;
  const std::int64_t bound = most >> lift;
  if (x > bound || x < -bound) return x < 0 ? -most : most;
  return x * (std::int64_t{1} << lift);
}

// The same in another unit.
NIBBLE_HOST_DEVICE constexpr NormMoments norm_moments_in(const NormMoments& moments,
                                                         std::int64_t exponent) {
  const std::int64_t halvings = exponent - moments.exponent;
  return {.mean = norm_moved(moments.mean, halvings, kNormMeanMost),
          .spread = norm_moved(moments.spread, 2 * halvings, kNormSpreadMost),
          .exponent = exponent};
}

inline constexpr int kNormShareBits = 8;

// The share of the newest batch in 2^-8: 256·m to the nearest, at least 1, of a network's momentum
// m, 0 to 1, given by the bits of its f32.
constexpr int norm_share(std::uint32_t bits) {
  constexpr int kFraction = 23;
  const std::int64_t mantissa = (bits & ((1U << kFraction) - 1)) | 1U << kFraction;
  const int halvings =
      127 + kFraction - kNormShareBits - static_cast<int>(bits >> kFraction & 0xFF);
  return std::max(static_cast<int>(rounded_shift(mantissa, std::min(halvings, 62))), 1);
}

// `share` 2^-8 of the way from one number to another, to the nearest, ties away from zero: never
// beyond it.
NIBBLE_HOST_DEVICE constexpr std::int64_t norm_step(std::int64_t from, std::int64_t to, int share) {
  const auto way = static_cast<UInt128>(magnitude_of(to - from)) * static_cast<unsigned>(share);
  constexpr UInt128 kHalf = 1U << (kNormShareBits - 1);
  return from +
         with_sign_of(to - from, static_cast<std::uint64_t>((way + kHalf) >> kNormShareBits));
}

// What is kept of batches, once there is one more: in its unit.
NIBBLE_HOST_DEVICE constexpr NormMoments running_moments(const NormMoments& kept,
                                                         const NormMoments& batch, int share) {
  const NormMoments before = norm_moments_in(kept, batch.exponent);
  return {.mean = norm_step(before.mean, batch.mean, share),
          .spread = norm_step(before.spread, batch.spread, share),
          .exponent = batch.exponent};
}

// γ and β of a channel as they are trained.
struct NormScale {
  std::int32_t scale = 1 << 16;
  std::int32_t shift = 0;

  NIBBLE_HOST_DEVICE constexpr std::uint64_t magnitude() const {
    return magnitude_of<std::int32_t>(scale);
  }
};

// γ after an update, in magnitude at least 2^-8: one nearer to 0 stays there with the sign it had.
// That does not bound β·σ/γ: a frozen bias beyond its bound is held, too.
NIBBLE_HOST_DEVICE constexpr std::int32_t held_norm_scale(std::int32_t moved, std::int32_t before) {
  constexpr std::int32_t kLeast = kNormScaleLeast;  // a GPU has no address of the other
  if (moved >= kLeast || moved <= -kLeast) return moved;
  return before < 0 ? -kLeast : kLeast;
}

// z = multiplier·v + addend is the normalized value in units of 2^exponent.
struct NormLine {
  std::int64_t multiplier = 0;  // 2^13 <= |multiplier| <= 2^15
  std::int64_t addend = 0;      // |addend| < 2^46
  int exponent = 0;             // -37 to -7

  NIBBLE_HOST_DEVICE constexpr std::int64_t at(std::int64_t v) const {
    return multiplier * v + addend;
  }
  // The largest magnitude between two values: a line has it at an end.
  NIBBLE_HOST_DEVICE constexpr std::int64_t largest(std::int64_t least, std::int64_t most) const {
    return static_cast<std::int64_t>(std::max(magnitude_of(at(least)), magnitude_of(at(most))));
  }
};

// γ / σ = G·2^-16 / (d·2^-15) = G / 2d, with k = 14 + bits of d - bits of G. The multiplier is
// -1/2 to 1/2 + |x|/d off in magnitude, less than 3/2; z less than 3/2·(|v - μ| + 1).
NIBBLE_HOST_DEVICE constexpr NormLine norm_line(const NormStatistics& statistics,
                                                const NormScale& scale) {
  const std::int64_t deviation = statistics.deviation();
  const std::uint64_t magnitude = scale.magnitude();
  const int k = 14 + bits_of(static_cast<std::uint64_t>(deviation) + 1) - bits_of(magnitude + 1);
  const std::int64_t multiplier = with_sign_of(
      scale.scale, static_cast<std::uint64_t>(quotient_to_nearest(
                       Int128{magnitude} << k, static_cast<std::uint64_t>(deviation))));
  const std::int64_t lifted = k >= kNormUnitBits
                                  ? scale.shift * (std::int64_t{1} << (k - kNormUnitBits))
                                  : rounded_shift(scale.shift, kNormUnitBits - k);
  return {.multiplier = multiplier,
          .addend = lifted - rounded_shift(multiplier * statistics.mean, kNormUnitBits),
          .exponent = -k - 1};
}

// The exponent that a channel's largest number asks of the whole tensor, of 7 bits and a sign; what
// counts is the largest of all channels.
NIBBLE_HOST_DEVICE constexpr int norm_wanted_exponent(std::int64_t largest, int exponent) {
  return exponent + std::max(bits_of(static_cast<std::uint64_t>(largest)) - 7, 0);
}

// From a channel's unit to the tensor's.
NIBBLE_HOST_DEVICE constexpr int norm_shift(int tensor_exponent, int exponent) {
  return std::min(tensor_exponent - exponent, 62);
}

// Exact sums of errors e of one channel, over all ranks.
struct NormErrorSums {
  std::int64_t errors = 0;    // Σ e
  std::int64_t products = 0;  // Σ e·v
};

// u = error·e + value·v + addend is the error passed on, in 2^exponent of the unit of e.
struct NormErrorPlane {
  std::int64_t error = 0;   // |error| <= 2^23
  std::int64_t value = 0;   // |value| < 2^31
  std::int64_t addend = 0;  // |addend| < 2^48
  int exponent = 0;

  NIBBLE_HOST_DEVICE constexpr std::int64_t at(std::int64_t e, std::int64_t v) const {
    return error * e + value * v + addend;
  }
  // No e and v have a larger magnitude; below 2^50.
  NIBBLE_HOST_DEVICE constexpr std::uint64_t most() const {
    return 127 * magnitude_of(error) + (magnitude_of(value) << kNormValueBits) +
           magnitude_of(addend);
  }
};

// N·Σ e·v - Σv·Σe = N·Σ e·(v - mean), below 2^86.
NIBBLE_HOST_DEVICE constexpr Int128 norm_covariance(const NormSums& sums,
                                                    const NormErrorSums& errors,
                                                    std::int64_t count) {
  return Int128{errors.products} * count - Int128{sums.values} * errors.errors;
}

// γ/σ·(e - Σe/N - (v - mean)·Σe(v - mean) / (N·σ²)); `value_exponent` is that of v. With
// a = |Σe(v - μ)| / (N·σ²), u is off by less than
// 384·|e - Σe/N| + (385·a + 256/σ² + 1)·|v - μ| + 129·a + 1.
NIBBLE_HOST_DEVICE constexpr NormErrorPlane norm_error_plane(
    const NormSums& sums, const NormErrorSums& errors, const NormStatistics& statistics,
    const NormLine& line, std::int64_t count, int value_exponent) {
  const auto n = static_cast<std::uint64_t>(count);
  const Int128 covariance = norm_covariance(sums, errors, count);
  const auto spread =
      static_cast<std::int64_t>(quotient(magnitude_of_wide(covariance) << kNormUnitBits, n * n));
  const std::int64_t error = line.multiplier * (1 << kNormErrorBits);
  const bool is_negative = (covariance < 0) != (line.multiplier < 0);
  const auto slope = static_cast<std::int64_t>(
      quotient(static_cast<UInt128>(magnitude_of(error)) * static_cast<std::uint64_t>(spread)
                   << kNormUnitBits,
               static_cast<std::uint64_t>(statistics.variance)));
  const std::int64_t value = is_negative ? slope : -slope;
  return {.error = error,
          .value = value,
          .addend = -quotient_to_nearest(Int128{error} * errors.errors, n) -
                    rounded_shift(value * statistics.mean, kNormUnitBits),
          .exponent = line.exponent - kNormErrorBits - value_exponent};
}

// Σ e·(v - mean) / σ, the gradient of γ in units of the errors'; that of β is Σ e. Its magnitude is
// less than 2 too small, at most one part in d too large.
NIBBLE_HOST_DEVICE constexpr std::int64_t norm_scale_gradient(const NormSums& sums,
                                                              const NormErrorSums& errors,
                                                              const NormStatistics& statistics,
                                                              std::int64_t count) {
  const Int128 covariance = norm_covariance(sums, errors, count);
  const UInt128 whole = quotient(magnitude_of_wide(covariance), static_cast<std::uint64_t>(count));
  const UInt128 gradient =
      quotient(whole << kNormUnitBits, static_cast<std::uint64_t>(statistics.deviation()));
  return with_sign_of(covariance < 0 ? -1 : 1, static_cast<std::uint64_t>(gradient));
}

// Frozen, a channel is R((±S + bias)·multiplier, shift) of its exact sums S; the sign is γ's.
// bias = β·σ/|γ| ∓ mean in units of S, which are 2^sum_shift below those of v. Where it is not
// held it is off by 1/2 + 2^sum_shift·(2^-15·|β/γ| + 2^-16) at most.
NIBBLE_HOST_DEVICE constexpr std::int32_t frozen_norm_bias(const NormStatistics& statistics,
                                                           const NormScale& scale, int sum_shift) {
  const auto magnitude = static_cast<std::int64_t>(scale.magnitude());
  const std::int64_t mean = scale.scale < 0 ? -statistics.mean : statistics.mean;
  const std::int64_t difference = scale.shift * statistics.deviation() - mean * magnitude;
  const std::int64_t bias =
      quotient_to_nearest(Int128{difference} * (std::int64_t{1} << sum_shift),
                          static_cast<std::uint64_t>(magnitude) << kNormUnitBits);
  return static_cast<std::int32_t>(std::clamp(bias, -kNormBiasMost, kNormBiasMost));
}

NIBBLE_HOST_DEVICE constexpr bool is_held_norm_bias(std::int32_t bias) {
  return bias == kNormBiasMost || bias == -kNormBiasMost;
}

// What is then rounded; a negative γ negates bias and multiplier, since R is odd.
NIBBLE_HOST_DEVICE constexpr std::int8_t frozen_norm_value(std::int64_t sum, std::int32_t bias,
                                                           std::int32_t multiplier, int shift) {
  return clamp127(rounded_shift((sum + bias) * multiplier, shift));
}

// |γ|/σ in 2^(-1-places) of a value's unit over that of S, to the nearest: off as the line's is.
// With x the real one, (±S + bias)·multiplier is off by |±S + bias|·(1/2 + x/d) + x·(what the bias
// is).
NIBBLE_HOST_DEVICE constexpr std::int64_t frozen_norm_multiplier(const NormStatistics& statistics,
                                                                 const NormScale& scale,
                                                                 int places) {
  return quotient_to_nearest(static_cast<Int128>(scale.magnitude()) << places,
                             static_cast<std::uint64_t>(statistics.deviation()));
}

}  // namespace nibble::inline laws
