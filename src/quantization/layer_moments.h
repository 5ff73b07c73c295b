// SPDX-License-Identifier: Apache-2.0
// Second moments of what enters a layer and of the sums that it should give.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "float_training/product.h"

namespace nibble::inline quantization {

// Of rows x and targets t: Σ x·xᵀ, Σ x·t, Σ x, Σ t. They say all about Σ (t - x·w)².
class LayerMoments {
 public:
  LayerMoments(std::int64_t order, std::int64_t outputs);

  // `order` numbers a row, as many rows of targets. Sums of a call are float32, of calls double.
  void add(std::span<const float> rows, const Matrix& targets);

  void center();                               // the means leave x and t: a bias will have them
  void subtract(std::span<const float> bias);  // by output, from t

  // Σ x·xᵀ with `damping` of its mean diagonal added to the diagonal, and what covers float32's
  // rounding of the sums before they were centered; with 1, where all is 0.
  std::vector<double> damped_form(double damping) const;

  // Σ x·(t - x·w): half of what the squared error falls by, to first order.
  std::vector<double> slope(std::span<const float> weights, std::size_t output) const;

  // The mean of t - x·w before they were centered.
  float bias_for(std::span<const float> weights, std::size_t output) const;

 private:
  std::size_t order_;
  std::size_t outputs_;
  double rows_ = 0;
  double whole_trace_ = 0;        // of Σ x·xᵀ, not centered
  std::vector<double> squares_;   // order × order
  std::vector<double> products_;  // order × outputs
  std::vector<double> row_sums_;
  std::vector<double> target_sums_;
};

}  // namespace nibble::inline quantization
