// SPDX-License-Identifier: Apache-2.0
// Moments by matrix products.
#include "quantization/layer_moments.h"

#include <algorithm>

namespace nibble::inline quantization {
namespace {

constexpr double kRoundingShare = 1e-5;

void add_to(std::vector<double>& sums, std::span<const float> values) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(values[i]);
}

}  // namespace

LayerMoments::LayerMoments(std::int64_t order, std::int64_t outputs)
    : order_(static_cast<std::size_t>(order)),
      outputs_(static_cast<std::size_t>(outputs)),
      squares_(order_ * order_),
      products_(order_ * outputs_),
      row_sums_(order_),
      target_sums_(outputs_) {}

void LayerMoments::add(std::span<const float> rows, const Matrix& targets) {
  const auto order = static_cast<std::int64_t>(order_);
  const auto outputs = static_cast<std::int64_t>(outputs_);
  const std::size_t count = rows.size() / order_;
  const auto k = static_cast<std::int64_t>(count);
  const Matrix columns{.data = rows.data(), .stride = order, .is_transposed = true};
  std::vector<float> sums(order_ * std::max(order_, outputs_));
  product(order, order, k, columns, {.data = rows.data(), .stride = order}, sums.data(), false,
          false);
  add_to(squares_, sums);
  for (std::size_t i = 0; i < order_; ++i) {
    whole_trace_ += static_cast<double>(sums[i * order_ + i]);
  }
  product(order, outputs, k, columns, targets, sums.data(), false, false);
  add_to(products_, sums);
  for (std::size_t i = 0; i < count; ++i) {
    add_to(row_sums_, rows.subspan(i * order_, order_));
    add_to(target_sums_, {targets.data + static_cast<std::int64_t>(i) * targets.stride, outputs_});
  }
  rows_ += static_cast<double>(count);
}

void LayerMoments::center() {
  for (std::size_t i = 0; i < order_; ++i) {
    const double mean = row_sums_[i] / rows_;
    for (std::size_t j = 0; j < order_; ++j) squares_[i * order_ + j] -= mean * row_sums_[j];
    for (std::size_t k = 0; k < outputs_; ++k)
      products_[i * outputs_ + k] -= mean * target_sums_[k];
  }
}

void LayerMoments::subtract(std::span<const float> bias) {
  for (std::size_t i = 0; i < order_; ++i) {
    for (std::size_t k = 0; k < outputs_; ++k) {
      products_[i * outputs_ + k] -= row_sums_[i] * static_cast<double>(bias[k]);
    }
  }
}

std::vector<double> LayerMoments::damped_form(double damping) const {
  double trace = 0;
  for (std::size_t i = 0; i < order_; ++i) trace += squares_[i * order_ + i];
  const double sum = damping * std::max(trace, 0.0) + kRoundingShare * whole_trace_;
  const double extra = sum > 0 ? sum / static_cast<double>(order_) : 1.0;
  std::vector<double> form = squares_;
  for (std::size_t i = 0; i < order_; ++i) form[i * order_ + i] += extra;
  return form;
}

std::vector<double> LayerMoments::slope(std::span<const float> weights, std::size_t output) const {
  std::vector<double> result(order_);
  for (std::size_t i = 0; i < order_; ++i) {
    double sum = products_[i * outputs_ + output];
    for (std::size_t j = 0; j < order_; ++j) {
      sum -= squares_[i * order_ + j] * static_cast<double>(weights[j]);
    }
    result[i] = sum;
  }
  return result;
}

float LayerMoments::bias_for(std::span<const float> weights, std::size_t output) const {
  double sum = target_sums_[output];
  for (std::size_t i = 0; i < order_; ++i) {
    sum -= row_sums_[i] * static_cast<double>(weights[i]);
  }
  return static_cast<float>(sum / rows_);
}

}  // namespace nibble::inline quantization
