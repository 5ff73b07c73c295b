// SPDX-License-Identifier: Apache-2.0
// How weights begin.
#include "integer_step/trained_tensor.h"

#include <algorithm>

#include "laws/batch_norm.h"

namespace nibble::inline integer_step {
namespace {

// The memory beside mantissas that a rule needs.
struct RuleMemory {
  int fraction_bits = 0;
  bool has_momentum = false;
};

RuleMemory memory_of(const ShiftUpdate& rule) {
  return {rule.fraction_bits, rule.momentum > 0};
}

RuleMemory memory_of(const SgdUpdate& rule) {
  return {rule.fraction_bits, true};
}

}  // namespace

WeightsState initial_state(const TrainedTensor& tensor, int exponent, const UpdateRule& rule,
                           const RandomKey& key) {
  WeightsState state{.mantissas = Tensor(DType::i8, tensor.shape()), .exponent = exponent};
  const auto mantissas = state.mantissas.as<std::int8_t>();
  for (std::size_t i = 0; i < mantissas.size(); ++i) {
    const std::uint64_t scaled = (std::uint64_t{draw32(key, i)} * 255) >> 32;
    mantissas[i] = static_cast<std::int8_t>(static_cast<int>(scaled) - 127);
  }
  if (tensor.is_bias()) std::ranges::fill(mantissas, std::int8_t{0});
  if (tensor.norm() != NormPart::none) {
    std::ranges::fill(mantissas,
                      tensor.norm() == NormPart::scale ? std::int8_t{1} : std::int8_t{0});
    for (const std::int8_t each : mantissas) state.fine.push_back(each << kNormFractionBits);
    state.momentum.assign(mantissas.size(), 0);
    return state;
  }
  const RuleMemory memory = std::visit([](const auto& own) { return memory_of(own); }, rule);
  if (memory.fraction_bits > 0) {
    for (const std::int8_t each : mantissas)
      state.fine.push_back(each * (1 << memory.fraction_bits));
  }
  if (memory.has_momentum) state.momentum.assign(mantissas.size(), 0);
  return state;
}

// The smallest k with √(6 / fans) ≤ 2^k, that is 6 ≤ fans·4^k.
int xavier_exponent(std::int64_t fan_in, std::int64_t fan_out) {
  const std::int64_t fans = fan_in + fan_out;
  int k = 0;
  while (6 > fans << (2 * k)) ++k;
  while (k > -28 && std::int64_t{6} << (-2 * (k - 1)) <= fans) --k;
  return k - 7;
}

}  // namespace nibble::inline integer_step
