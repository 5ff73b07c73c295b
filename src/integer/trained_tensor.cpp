// SPDX-License-Identifier: Apache-2.0
// How weights begin.
#include "integer/trained_tensor.h"

namespace nibble {

void prepare(TrainedTensor& tensor, const UpdateRule& rule) {
  if (rule.fraction_bits > 0) {
    const auto mantissas = tensor.mantissas.as<std::int8_t>();
    tensor.fine.clear();
    for (const std::int8_t each : mantissas)
      tensor.fine.push_back(each * (1 << rule.fraction_bits));
  }
  if (rule.momentum > 0) tensor.momentum.assign(tensor.size(), 0);
}

void fill_uniform(TrainedTensor& tensor, const RandomKey& key) {
  const auto mantissas = tensor.mantissas.as<std::int8_t>();
  for (std::size_t i = 0; i < mantissas.size(); ++i) {
    const std::uint64_t scaled = (std::uint64_t{draw32(key, i)} * 255) >> 32;
    mantissas[i] = static_cast<std::int8_t>(static_cast<int>(scaled) - 127);
  }
}

// The smallest k with √(6 / fans) ≤ 2^k, that is 6 ≤ fans·4^k.
int xavier_exponent(std::int64_t fan_in, std::int64_t fan_out) {
  const std::int64_t fans = fan_in + fan_out;
  int k = 0;
  while (6 > fans << (2 * k)) ++k;
  while (k > -28 && std::int64_t{6} << (-2 * (k - 1)) <= fans) --k;
  return k - 7;
}

}  // namespace nibble
