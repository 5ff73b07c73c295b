// SPDX-License-Identifier: Apache-2.0
// The law of the losses, in integers alone: what every backend rounds to the error of the answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "laws/integer_division.h"
#include "nibble/backend/rules.h"
#include "nibble/core/host_device.h"

namespace nibble::inline backend {

inline constexpr int kProbabilityBits = 11;
inline constexpr int kCrossEntropyExponent = -7;
inline constexpr int kCrossEntropyShift = kProbabilityBits + kCrossEntropyExponent;

// Targets are in units of 2^-16, one a number of the answer, image after image.
inline constexpr int kTargetExponent = -16;

// Numbers n_i ∝ e^(v·2^ε), of which class i has the share n_i / Σ n. Nothing is below zero and the
// largest is above it.
struct CrossEntropyLaw {
  CrossEntropyForm form = CrossEntropyForm::fractional;
  int exponent = 0;                       // ε, within kLeast and kMost
  const std::uint16_t* powers = nullptr;  // power_table()

  static constexpr std::int64_t kLog2E = 47274;  // log2(e)·2^15
  static constexpr int kOctaves = 10;            // below the largest; what is further down counts 0
  static constexpr int kTaylor = -7;  // from here down answers are so small that e^x ≈ 1 + x + x²/2
  static constexpr int kLeast = -24;  // smaller ones are taken as this: 64 bits hold the sums
  static constexpr int kMost = 16;

  NIBBLE_HOST_DEVICE static constexpr int held(int exponent) {
    return exponent < kLeast ? kLeast : (exponent > kMost ? kMost : exponent);
  }

  // v·log2(e)·2^ε in units of 2^-15, toward zero, or in whole numbers: cut before 2^ε and after it.
  NIBBLE_HOST_DEVICE constexpr std::int64_t place(std::int64_t v) const {
    std::int64_t product = v * kLog2E;
    if (form == CrossEntropyForm::whole_octaves) product = shift_toward_zero(product, 15);
    return exponent >= 0 ? product * (std::int64_t{1} << exponent)
                         : shift_toward_zero(product, -exponent);
  }

  // n of the answer v; `top` is the largest place of the image.
  NIBBLE_HOST_DEVICE constexpr std::int64_t number(std::int64_t v, std::int64_t top) const {
    if (exponent <= kTaylor) {  // times 2^(1 - 2ε)
      return (std::int64_t{1} << (1 - 2 * exponent)) + v * (std::int64_t{1} << (1 - exponent)) +
             v * v;
    }
    if (form == CrossEntropyForm::whole_octaves) {  // 2^z - 1, z up to 10
      const std::int64_t z = place(v) - (top - kOctaves);
      return (std::int64_t{1} << (z > 0 ? z : 0)) - 1;
    }
    // 2^z - 1 with fractions: the largest gives 1023·2^10.
    const std::int64_t above = place(v) - (top - (std::int64_t{kOctaves} << 15));
    const std::int64_t z = above > 0 ? above : 0;
    const std::int64_t fraction = powers[(z & 32767) >> 7];
    return ((fraction << (z >> 15)) >> 5) - 1024;
  }
};

// p - target of a class in 2^-11; Σ over classes is 0, whatever the divisions cut. `share` is p,
// `total` the sum of all shares.
NIBBLE_HOST_DEVICE constexpr std::int64_t cross_entropy_difference(std::int64_t share,
                                                                   std::int64_t total,
                                                                   std::int64_t classes,
                                                                   bool is_label,
                                                                   std::int64_t smoothing) {
  return share - smoothing - (is_label ? total - classes * smoothing : 0);
}

// The share of every class where labels are smoothed by s, 0 <= s < 1, given by the bits of its
// f32: s·2^11 / classes to the nearest.
std::int64_t smoothing_of(std::uint32_t bits, std::int64_t classes);

// Of all classes. `answers` are the mantissas of one image, `exponent` theirs. Rounded
// stochastically by kCrossEntropyShift it is the error, 128·(softmax - target).
void cross_entropy_differences(std::span<const std::int8_t> answers, int exponent,
                               std::int32_t label, const CrossEntropyRule& rule,
                               std::span<std::int64_t> differences);

// y - target, aligned exactly and rounded once: y·2^answer_lift - target·2^target_lift in units of
// 2^exponent.
struct SquaredScale {
  int exponent = 0;
  int answer_lift = 0;
  int target_lift = 0;
};
NIBBLE_HOST_DEVICE constexpr SquaredScale squared_scale(int answer_exponent) {
  const int held = answer_exponent < -40 ? -40 : (answer_exponent > 24 ? 24 : answer_exponent);
  const int common = held < kTargetExponent ? held : kTargetExponent;
  return {common, held - common, kTargetExponent - common};
}

}  // namespace nibble::inline backend
