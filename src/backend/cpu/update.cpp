// SPDX-License-Identifier: Apache-2.0
// One update of a weight by its gradient.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backend/cpu/cpu_weights.h"
#include "fixed/integer_laws.h"
#include "kernels/integer_loops/integer_loops.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr int kDecayBits = 15;  // a decayed weight of 1 counts 2^-15 of the largest gradient

struct Step {
  WeightData& tensor;
  const UpdateRule& rule;
  int shift;
  RandomKey random;
};

std::int64_t magnitude(std::int64_t x) {
  return x < 0 ? -x : x;
}

// w·2^β added to the gradient, β = b(G) - 15; a negative β divides, toward zero.
std::int64_t decay_of(std::int64_t weight, int beta) {
  return beta >= 0 ? weight * (std::int64_t{1} << beta) : weight / (std::int64_t{1} << -beta);
}

std::int64_t clamp_to(std::int64_t value, std::int64_t limit) {
  return std::clamp(value, -limit, limit);
}

// Any rule, by the definition.
void move_by_definition(const Step& step, std::size_t i, std::int64_t gradient) {
  WeightData& tensor = step.tensor;
  const int fraction = step.rule.fraction_bits;
  const std::int64_t limit = std::int64_t{127} << fraction;
  const std::uint32_t draw =
      tensor.rounding == ShiftRounding::stochastic ? draw32(step.random, i) : 0;
  std::int64_t change =
      step.shift < 1 ? gradient : round_shift(tensor.rounding, gradient, step.shift, draw);
  change = clamp_to(change, limit);
  if (step.rule.momentum > 0) {
    std::int32_t& memory = tensor.momentum[i];
    memory = static_cast<std::int32_t>(
        clamp_to(std::int64_t{memory} * step.rule.momentum / 16 + change, limit));
    change = memory;
  }
  std::int8_t& mantissa = tensor.mantissas.as<std::int8_t>()[i];
  if (fraction == 0) {
    mantissa = clamp127(mantissa - change);
    return;
  }
  std::int32_t& fine = tensor.fine[i];
  fine = static_cast<std::int32_t>(clamp_to(fine - change, limit));
  mantissa = clamp127(shift_nearest(fine, fraction));
}

void move_fast(const Step& step, const GradientSums& gradient, std::size_t begin,
               std::size_t count) {
  const IntegerLoops& loops = integer_loops();
  std::array<std::int8_t, kChunk> change;
  const int shift = std::max(step.shift, 0);
  if (gradient.is_wide) {
    loops.shift_pseudo64(gradient.wide.data() + begin, change.data(), count, shift);
  } else {
    loops.shift_pseudo(gradient.narrow.data() + begin, change.data(), count, shift);
  }
  loops.subtract_clamped(step.tensor.mantissas.as<std::int8_t>().data() + begin, change.data(),
                         count);
}

std::int64_t count_changed(const std::int8_t* before, const std::int8_t* after, std::size_t count) {
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < count; ++i) changed += before[i] != after[i] ? 1 : 0;
  return changed;
}

}  // namespace

void update(WeightData& tensor, const GradientSums& gradient, const UpdateRule& rule,
            const RandomKey& random) {
  const auto at = [&](std::size_t i) {
    return gradient.is_wide ? gradient.wide[i] : std::int64_t{gradient.narrow[i]};
  };
  const auto mantissas = tensor.mantissas.as<std::int8_t>();
  int bits = bits_of(gradient.largest());
  const bool decays = rule.has_decay && !tensor.is_bias && bits > 0;
  const int beta = bits - kDecayBits;
  if (decays) {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i)
      largest = std::max(largest, magnitude(at(i) + decay_of(mantissas[i], beta)));
    bits = bits_of(static_cast<std::uint64_t>(largest));
  }
  const int mu = tensor.is_bias ? rule.bias_mu : rule.mu;
  Step step{tensor, rule, bits - mu - rule.fraction_bits, random};
  step.random.stream = tensor.stream;
  tensor.record = {.shift = step.shift};
  const bool is_still = bits == 0;
  if (is_still && rule.momentum == 0) return;

  const bool is_plain = rule.momentum == 0 && rule.fraction_bits == 0 && !decays &&
                        tensor.rounding == ShiftRounding::pseudo_stochastic &&
                        (gradient.is_wide || step.shift <= 31);
  std::atomic<std::int64_t> moved{0};
  parallel_for(tensor.size(), kChunk, [&](std::size_t begin, std::size_t end) {
    std::array<std::int8_t, kChunk> before;
    std::memcpy(before.data(), mantissas.data() + begin, end - begin);
    if (is_plain) {
      move_fast(step, gradient, begin, end - begin);
    } else {
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t decay = decays ? decay_of(mantissas[i], beta) : 0;
        move_by_definition(step, i, is_still ? 0 : at(i) + decay);
      }
    }
    moved += count_changed(before.data(), mantissas.data() + begin, end - begin);
  });
  tensor.record.moved = moved;
}

}  // namespace nibble
