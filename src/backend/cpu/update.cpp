// SPDX-License-Identifier: Apache-2.0
// One update of a weight by its gradient.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backend/cpu/cpu_weights.h"
#include "backend/update_law.h"
#include "kernels/integer_loops/integer_loops.h"
#include "laws/integer_laws.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline backend {
namespace {

constexpr std::size_t kChunk = 4096;

struct Step {
  WeightData& tensor;
  const ShiftUpdate& rule;
  int shift;
  RandomKey random;
};

std::int64_t magnitude(std::int64_t x) {
  return x < 0 ? -x : x;
}

// Any rule, by the definition.
void move_by_definition(const Step& step, std::size_t i, std::int64_t gradient) {
  WeightData& tensor = step.tensor;
  const UpdateLaw law{.shift = step.shift,
                      .fraction_bits = step.rule.fraction_bits,
                      .momentum = step.rule.momentum,
                      .rounding = tensor.rounding};
  std::int8_t& mantissa = tensor.mantissas.as<std::int8_t>()[i];
  WeightNumbers numbers{mantissa, law.fraction_bits > 0 ? tensor.fine[i] : 0,
                        law.momentum > 0 ? tensor.momentum[i] : 0};
  law.move(numbers, gradient,
           tensor.rounding == ShiftRounding::stochastic ? draw32(step.random, i) : 0);
  mantissa = numbers.mantissa;
  if (law.fraction_bits > 0) tensor.fine[i] = numbers.fine;
  if (law.momentum > 0) tensor.momentum[i] = numbers.momentum;
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

void update(WeightData& tensor, const GradientSums& gradient, const ShiftUpdate& rule,
            const RandomKey& random) {
  const auto at = [&](std::size_t i) {
    return gradient.is_wide ? gradient.wide[i] : std::int64_t{gradient.narrow[i]};
  };
  const auto mantissas = tensor.mantissas.as<std::int8_t>();
  int bits = bits_of(gradient.largest());
  const bool decays = rule.has_decay && !tensor.is_bias && bits > 0;
  const int gradient_bits = bits;
  if (decays) {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i)
      largest = std::max(largest, magnitude(at(i) + decay_of(mantissas[i], gradient_bits)));
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
        const std::int64_t decay = decays ? decay_of(mantissas[i], gradient_bits) : 0;
        move_by_definition(step, i, is_still ? 0 : at(i) + decay);
      }
    }
    moved += count_changed(before.data(), mantissas.data() + begin, end - begin);
  });
  tensor.record.moved = moved;
}

}  // namespace nibble::inline backend
