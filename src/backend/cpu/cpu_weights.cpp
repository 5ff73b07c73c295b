// SPDX-License-Identifier: Apache-2.0
// A weight in training on the CPU.
#include "backend/cpu/cpu_weights.h"

#include <algorithm>

namespace nibble::inline backend {

CpuWeights::CpuWeights(const WeightsCase& weights) {
  tensor_.mantissas = Tensor(DType::i8, weights.shape);
  tensor_.exponent = weights.exponent;
  tensor_.rounding = weights.rounding;
  tensor_.stream = weights.stream;
  tensor_.is_bias = weights.is_bias;
  tensor_.norm = weights.norm;
  std::ranges::fill(tensor_.mantissas.as<std::int8_t>(), std::int8_t{0});
}

void CpuWeights::write(const WeightsState& state) {
  std::ranges::copy(state.mantissas.as<std::int8_t>(), tensor_.mantissas.as<std::int8_t>().begin());
  tensor_.exponent = state.exponent;
  tensor_.fine = state.fine;
  tensor_.momentum = state.momentum;
  ++version_;
}

WeightsState CpuWeights::read() const {
  return {copy_of(tensor_.mantissas.view()), tensor_.exponent, tensor_.fine, tensor_.momentum};
}

void CpuWeights::read_mantissas(std::span<std::int8_t> mantissas) const {
  std::ranges::copy(tensor_.mantissas.as<std::int8_t>(), mantissas.begin());
}

std::vector<std::int64_t> CpuWeights::lifted(int places) const {
  std::vector<std::int64_t> values;
  for (const std::int64_t each : mantissas()) values.push_back(each * (std::int64_t{1} << places));
  return values;
}

void CpuWeights::update(const GradientSums& gradient, const UpdateRule& rule,
                        const RandomKey& random) {
  std::visit([&](const auto& own) { nibble::update(tensor_, gradient, own, random); }, rule);
  ++version_;
}

int CpuSums::read(std::span<std::int64_t> sums) {
  if (gradient.is_wide) {
    std::ranges::copy(gradient.wide, sums.begin());
  } else {
    std::ranges::copy(gradient.narrow, sums.begin());
  }
  return gradient.exponent;
}

void CpuSums::write(std::span<const std::int64_t> sums, int exponent) {
  gradient = {
      .is_wide = true, .narrow = {}, .wide = {sums.begin(), sums.end()}, .exponent = exponent};
}

void CpuSums::reduce(Communicator& cluster, bool is_late) {
  const auto add = [&](auto numbers) {
    is_late ? cluster.start_sum(numbers) : cluster.sum(numbers);
  };
  if (gradient.is_wide) {
    add(std::span(gradient.wide));
  } else {
    add(std::span(gradient.narrow));
  }
  is_late_ = is_late;
}

}  // namespace nibble::inline backend
