// SPDX-License-Identifier: Apache-2.0
// One update of a weight by the rule "sgd".
#include <algorithm>
#include <array>
#include <atomic>

#include "backend/cpu/cpu_weights.h"
#include "backend/sgd_law.h"
#include "kernels/integer_loops/integer_loops.h"
#include "laws/batch_norm.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline backend {
namespace {

constexpr std::size_t kNumbers = 4096;  // of a chunk

void raise_to(std::atomic<std::uint32_t>& largest, std::uint32_t own) {
  std::uint32_t known = largest.load(std::memory_order_relaxed);
  while (known < own && !largest.compare_exchange_weak(known, own, std::memory_order_relaxed)) {
  }
}

// Moves numbers [begin, end); returns the largest magnitude of them then.
std::uint32_t move_by_law(const SgdLaw& law, WeightData& tensor, const GradientSums& gradient,
                          const RandomKey& random, std::size_t begin, std::size_t end) {
  std::int64_t largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    FineNumber number{tensor.fine[i], tensor.momentum[i]};
    law.move(number, gradient.is_wide ? gradient.wide[i] : std::int64_t{gradient.narrow[i]},
             law.rounding == ShiftRounding::stochastic ? draw32(random, i) : 0);
    tensor.fine[i] = number.fine;
    tensor.momentum[i] = number.momentum;
    largest = std::max<std::int64_t>(largest, number.fine < 0 ? -number.fine : number.fine);
  }
  return static_cast<std::uint32_t>(largest);
}

// The numbers in the exponent that the step left them, and their mantissas; returns how many of
// these are others than before.
std::int64_t settle(const ExponentLaw& law, WeightData& tensor, std::size_t begin,
                    std::size_t end) {
  const auto mantissas = tensor.mantissas.as<std::int8_t>();
  std::int64_t moved = 0;
  for (std::size_t i = begin; i < end; ++i) {
    FineNumber number{tensor.fine[i], tensor.momentum[i]};
    law.settle(number);
    tensor.fine[i] = number.fine;
    tensor.momentum[i] = number.momentum;
    const std::int8_t mantissa = clamp127(shift_nearest(number.fine, law.fraction_bits));
    moved += mantissa != mantissas[i] ? 1 : 0;
    mantissas[i] = mantissa;
  }
  return moved;
}

}  // namespace

void update(WeightData& tensor, const GradientSums& gradient, const SgdUpdate& told,
            const RandomKey& key) {
  SgdUpdate rule = told;
  std::vector<std::int32_t> before;
  if (tensor.norm != NormPart::none) rule.fraction_bits = kNormFractionBits;
  if (tensor.norm == NormPart::scale) before = tensor.fine;
  const RandomKey random{key.seed, tensor.stream, key.step};
  const SgdLaw law =
      SgdLaw::of(rule, gradient.exponent, tensor.exponent, !tensor.is_bias, tensor.rounding);
  std::atomic<std::uint32_t> largest{0};
  parallel_for(tensor.size(), kNumbers, [&](std::size_t begin, std::size_t end) {
    raise_to(largest, move_by_law(law, tensor, gradient, random, begin, end));
  });
  const ExponentLaw exponent = tensor.is_bias
                                   ? ExponentLaw{.fraction_bits = rule.fraction_bits}
                                   : ExponentLaw::of(largest, rule.fraction_bits, tensor.exponent);
  std::atomic<std::int64_t> moved{0};
  parallel_for(tensor.size(), kNumbers, [&](std::size_t begin, std::size_t end) {
    moved += settle(exponent, tensor, begin, end);
  });
  for (std::size_t i = 0; i < before.size(); ++i)
    tensor.fine[i] = held_norm_scale(tensor.fine[i], before[i]);
  tensor.exponent += exponent.halvings;
  tensor.record = {.shift = law.shift, .moved = moved};
}

}  // namespace nibble::inline backend
