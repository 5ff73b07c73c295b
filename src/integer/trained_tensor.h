// SPDX-License-Identifier: Apache-2.0
// A weight in training: int8 mantissas, an exponent fixed for life, and how they change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integer/weight_gradient.h"
#include "nibble/core/tensor.h"
#include "nibble/integer/settings.h"

namespace nibble {

inline constexpr int kBiasExponent = -10;  // of biases, for life: they reach ±0.124

struct TrainedTensor {
  std::string name;  // NODE.KIND
  Tensor mantissas;  // i8
  int exponent = 0;
  ShiftRounding rounding = ShiftRounding::pseudo_stochastic;  // of gradients
  std::uint32_t stream = 0;                                   // of their draws
  std::vector<std::int32_t> fine;      // mantissa · 2^fraction_bits, where there are such bits
  std::vector<std::int32_t> momentum;  // in the same unit, where there is momentum
  bool is_bias = false;

  // Of the last step.
  int shift = 0;
  std::int64_t moved = 0;  // mantissas that changed

  std::size_t size() const { return static_cast<std::size_t>(mantissas.elements()); }
};

// The memory that an update rule needs.
void prepare(TrainedTensor& tensor, const UpdateRule& rule);

// w -= round(gradient to mu bits); `random` has seed and step. docs/integer-training.md has the
// law.
void update(TrainedTensor& tensor, const GradientSums& gradient, const UpdateRule& rule,
            const RandomKey& random);

// Uniform in -127 … 127.
void fill_uniform(TrainedTensor& tensor, const RandomKey& key);

// ⌈log2 √(6 / (fan_in + fan_out))⌉ - 7: Xavier's bound is what the mantissa 127 stands for.
int xavier_exponent(std::int64_t fan_in, std::int64_t fan_out);

}  // namespace nibble
