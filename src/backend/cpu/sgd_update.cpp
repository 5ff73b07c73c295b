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

constexpr std::size_t kNumbersAtOnce = 4096;

bool has_loop(const SgdStep& step) {
  const auto is_within = [](int shift) { return shift >= 1 && shift <= kMostPartShift; };
  return step.rounding == ShiftRounding::stochastic && is_within(step.shift) &&
         (step.decay == 0 || is_within(step.decay_shift));
}

// Both move numbers [begin, end) and return their largest magnitude then.
std::uint32_t move_fast(const SgdStep& step, WeightData& tensor, const GradientSums& gradient,
                        const RandomKey& random, std::size_t begin, std::size_t end) {
  const IntegerLoops& loops = integer_loops();
  std::array<std::uint32_t, kNumbersAtOnce> draws;
  loops.draw(random, begin, draws.data(), end - begin);
  std::int32_t* fine = tensor.fine.data() + begin;
  std::int32_t* momentum = tensor.momentum.data() + begin;
  return gradient.is_wide ? loops.sgd_step64(step, gradient.wide.data() + begin, draws.data(), fine,
                                             momentum, end - begin)
                          : loops.sgd_step(step, gradient.narrow.data() + begin, draws.data(), fine,
                                           momentum, end - begin);
}

std::uint32_t move_by_law(const SgdStep& step, WeightData& tensor, const GradientSums& gradient,
                          const RandomKey& random, std::size_t begin, std::size_t end) {
  std::uint64_t largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    FineNumber number{tensor.fine[i], tensor.momentum[i]};
    step.move(number, gradient.is_wide ? gradient.wide[i] : std::int64_t{gradient.narrow[i]},
              draw32(random, i));
    tensor.fine[i] = number.fine;
    tensor.momentum[i] = number.momentum;
    largest = std::max(largest, magnitude_of(number.fine));
  }
  return static_cast<std::uint32_t>(largest);
}

void settle(const ExponentMove& move, WeightData& tensor, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    FineNumber number{tensor.fine[i], tensor.momentum[i]};
    move.settle(number);
    tensor.fine[i] = number.fine;
    tensor.momentum[i] = number.momentum;
  }
}

void raise(std::atomic<std::uint32_t>& largest, std::uint32_t own) {
  std::uint32_t known = largest;
  while (known < own && !largest.compare_exchange_weak(known, own)) {
  }
}

}  // namespace

void update(WeightData& tensor, const GradientSums& gradient, const SgdUpdate& told,
            const RandomKey& key) {
  SgdUpdate rule = told;
  std::vector<std::int32_t> before;
  if (tensor.norm != NormPart::none) rule.fraction_bits = kNormFractionBits;
  if (tensor.norm == NormPart::scale) before = tensor.fine;
  const RandomKey random{key.seed, tensor.stream, key.step};
  const SgdStep step = sgd_step_of(rule, gradient.exponent, tensor.exponent,
                                   decays(rule, tensor.is_bias, tensor.norm), tensor.rounding);
  const auto move_some = has_loop(step) ? move_fast : move_by_law;
  std::atomic<std::uint32_t> largest{0};
  parallel_for(tensor.size(), kNumbersAtOnce, [&](std::size_t begin, std::size_t end) {
    raise(largest, move_some(step, tensor, gradient, random, begin, end));
  });

  const ExponentMove move = tensor.is_bias
                                ? ExponentMove{.fraction_bits = rule.fraction_bits}
                                : ExponentMove::of(largest, rule.fraction_bits, tensor.exponent);
  const bool is_settled = move.halvings == 0 && largest <= std::uint32_t{127} << rule.fraction_bits;
  std::atomic<std::int64_t> moved{0};
  parallel_for(tensor.size(), kNumbersAtOnce, [&](std::size_t begin, std::size_t end) {
    if (!is_settled) settle(move, tensor, begin, end);
    moved += integer_loops().shift_nearest(tensor.fine.data() + begin,
                                           tensor.mantissas.as<std::int8_t>().data() + begin,
                                           end - begin, rule.fraction_bits);
  });
  for (std::size_t i = 0; i < before.size(); ++i)
    tensor.fine[i] = held_norm_scale(tensor.fine[i], before[i]);
  tensor.exponent += move.halvings;
  tensor.record = {.shift = step.shift, .moved = moved};
}

}  // namespace nibble::inline backend
