// SPDX-License-Identifier: Apache-2.0
// The update of weights by its definitions.
#include <algorithm>
#include <utility>

#include "backend/reference/reference_backend.h"
#include "laws/batch_norm.h"
#include "laws/round_shift.h"

namespace nibble::inline backend {
namespace {

constexpr int kDecayBits = 15;  // a decayed weight of 1 counts 2^-15 of the largest gradient

// w·2^β, a negative β divides, toward zero.
std::int64_t decay(std::int64_t weight, int beta) {
  return beta >= 0 ? weight * (std::int64_t{1} << beta) : weight / (std::int64_t{1} << -beta);
}

void move(ReferenceWeights& own, const ReferenceSums& sums, const ShiftUpdate& rule,
          const RandomKey& random) {
  std::vector<std::int64_t> gradient = sums.data;
  const auto mantissas = own.state.mantissas.as<std::int8_t>();
  int bits = bits_in(largest_of(gradient));
  if (rule.has_decay && !own.of.is_bias && bits > 0) {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] += decay(mantissas[i], bits - kDecayBits);
    bits = bits_in(largest_of(gradient));
  }
  if (bits == 0) std::ranges::fill(gradient, 0);
  const int shift = bits - (own.of.is_bias ? rule.bias_mu : rule.mu) - rule.fraction_bits;
  own.record = {.shift = shift};
  if (bits == 0 && rule.momentum == 0) return;
  const std::int64_t limit = std::int64_t{127} << rule.fraction_bits;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    std::int64_t change = shift < 1
                              ? gradient[i]
                              : round_shift(own.of.rounding, gradient[i], shift, draw32(random, i));
    change = std::clamp(change, -limit, limit);
    if (rule.momentum > 0) {
      change = std::clamp(own.state.momentum[i] * std::int64_t{rule.momentum} / 16 + change, -limit,
                          limit);
      own.state.momentum[i] = static_cast<std::int32_t>(change);
    }
    std::int64_t moved = mantissas[i] - change;
    if (rule.fraction_bits > 0) {
      const std::int64_t fine = std::clamp(own.state.fine[i] - change, -limit, limit);
      own.state.fine[i] = static_cast<std::int32_t>(fine);
      moved = shift_nearest(fine, rule.fraction_bits);
    }
    const std::int8_t before = std::exchange(mantissas[i], clamp127(moved));
    own.record.moved += before != mantissas[i] ? 1 : 0;
  }
}

// x / 2^s, rounded, within ±2^30; a negative s multiplies.
std::int64_t scaled(const WeightsCase& of, std::int64_t x, int s, std::uint32_t draw) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  if (x == 0 || s > 62) return 0;
  if (s > 0) return std::clamp(round_shift(of.rounding, x, s, draw), -kLimit, kLimit);
  for (; s < 0 && x > -kLimit && x < kLimit; ++s) x *= 2;
  return std::clamp(x, -kLimit, kLimit);
}

// Halvings that bring the largest number within the mantissas, -1 where it can be doubled.
int halvings_for(std::int64_t largest, int fraction_bits, int exponent) {
  if (largest > 0 && largest < std::int64_t{48} << fraction_bits) return exponent > -48 ? -1 : 0;
  int halvings = 0;
  while (exponent + halvings < 16 && shift_nearest(largest, halvings) > std::int64_t{127}
                                                                            << fraction_bits)
    ++halvings;
  return halvings;
}

void move(ReferenceWeights& own, const ReferenceSums& sums, const SgdUpdate& told,
          const RandomKey& random) {
  SgdUpdate rule = told;
  if (own.of.norm != NormPart::none) rule.fraction_bits = kNormFractionBits;
  const std::vector<std::int32_t> before = own.state.fine;
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  constexpr std::int64_t kMostSum = std::int64_t{1} << 47;
  WeightsState& state = own.state;
  const int coarse_bits = 16 - rule.fraction_bits;
  const int shift = state.exponent - 16 - (sums.exponent + rule.rate.exponent);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < sums.data.size(); ++i) {
    const std::uint32_t draw = draw32(random, i);
    const std::int64_t gradient =
        std::clamp(sums.data[i], -kMostSum, kMostSum) * rule.rate.mantissa;
    std::int64_t added = scaled(own.of, gradient, shift, draw);
    if (own.of.norm != NormPart::none ? rule.has_norm_decay : !own.of.is_bias)
      added += scaled(own.of, state.fine[i] * rule.decay.mantissa,
                      -rule.decay.exponent - coarse_bits, draw);
    const auto kept = [&](std::int64_t last) { return last * rule.momentum / 256; };
    const std::int64_t momentum = std::clamp(kept(state.momentum[i]) + added, -kLimit, kLimit);
    const std::int64_t step = rule.looks_ahead ? kept(momentum) + added : momentum;
    const std::int64_t rounded =
        coarse_bits == 0 ? step : scaled(own.of, step, coarse_bits, draw << 16);
    const std::int64_t fine = std::clamp(state.fine[i] - rounded, -kLimit, kLimit);
    state.momentum[i] = static_cast<std::int32_t>(momentum);
    state.fine[i] = static_cast<std::int32_t>(fine);
    largest = std::max(largest, fine < 0 ? -fine : fine);
  }
  const int halvings =
      own.of.is_bias ? 0 : halvings_for(largest, rule.fraction_bits, state.exponent);
  const auto settled = [&](std::int64_t x, std::int64_t limit) {
    const std::int64_t moved = halvings < 0 ? 2 * x : shift_nearest(x, halvings);
    return static_cast<std::int32_t>(std::clamp(moved, -limit, limit));
  };
  state.exponent += halvings;
  own.record = {.shift = shift};
  const auto mantissas = state.mantissas.as<std::int8_t>();
  for (std::size_t i = 0; i < state.fine.size(); ++i) {
    state.fine[i] = settled(state.fine[i], std::int64_t{127} << rule.fraction_bits);
    state.momentum[i] = settled(state.momentum[i], kLimit);
    const std::int8_t mantissa = clamp127(shift_nearest(state.fine[i], rule.fraction_bits));
    own.record.moved += std::exchange(mantissas[i], mantissa) != mantissa ? 1 : 0;
    if (own.of.norm == NormPart::scale) state.fine[i] = held_norm_scale(state.fine[i], before[i]);
  }
}

}  // namespace

void ReferenceBackend::update(Weights& weights, Sums& sums) {
  auto& own = static_cast<ReferenceWeights&>(weights);
  RandomKey random = step_.random;
  random.stream = own.of.stream;
  std::visit(
      [&](const auto& rule) { move(own, static_cast<const ReferenceSums&>(sums), rule, random); },
      step_.update);
}

}  // namespace nibble::inline backend
