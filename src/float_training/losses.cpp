// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy with label smoothing, and squared error.
#include "float_training/losses.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nibble/core/parallel.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kLossesAtOnce = 64;  // images a task

// Smaller errors become zero: on their way back they would turn into subnormal numbers, with which
// processors are a hundred times slower.
constexpr double kLeastError = 0x1p-100;

struct Rows {
  std::size_t count;
  std::size_t width;
};

Rows rows_of(ConstTensorView answers) {
  const auto count = static_cast<std::size_t>(answers.shape()[0]);
  return {count, count == 0 ? 0 : static_cast<std::size_t>(answers.elements()) / count};
}

// log Σ exp(x)
double log_sum_exp(std::span<const float> row) {
  const auto most = static_cast<double>(*std::ranges::max_element(row));
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x) - most);
  return most + std::log(sum);
}

double target_at(const Targets& targets, std::size_t image, std::size_t column, std::size_t width) {
  if (!targets.values.empty()) return static_cast<double>(targets.values[image * width + column]);
  return static_cast<std::size_t>(targets.labels[image]) == column ? 1.0 : 0.0;
}

double entropy_loss(const SoftmaxCrossEntropy& op, std::span<const float> row, std::int32_t label) {
  const double total = log_sum_exp(row);
  const auto smoothing = static_cast<double>(op.smoothing);
  double loss =
      (1 - smoothing) * (total - static_cast<double>(row[static_cast<std::size_t>(label)]));
  if (smoothing > 0) {
    for (const float x : row)
      loss += smoothing / static_cast<double>(row.size()) * (total - static_cast<double>(x));
  }
  return loss;
}

}  // namespace

void image_losses(const Op& loss, ConstTensorView answers, const Targets& targets,
                  std::span<double> losses) {
  const auto [count, width] = rows_of(answers);
  const auto values = answers.as<float>();
  parallel_for(count, kLossesAtOnce, [&, width = width](std::size_t begin, std::size_t end) {
    for (std::size_t image = begin; image < end; ++image) {
      const auto row = values.subspan(image * width, width);
      if (const auto* entropy = std::get_if<SoftmaxCrossEntropy>(&loss)) {
        losses[image] = entropy_loss(*entropy, row, targets.labels[image]);
        continue;
      }
      double sum = 0;
      for (std::size_t k = 0; k < width; ++k) {
        const double distance = static_cast<double>(row[k]) - target_at(targets, image, k, width);
        sum += distance * distance;
      }
      losses[image] = 0.5 * sum;
    }
  });
}

void loss_error(const Op& loss, ConstTensorView answers, const Targets& targets, double scale,
                TensorView error) {
  const auto [count, width] = rows_of(answers);
  const auto values = answers.as<float>();
  const auto errors = error.as<float>();
  const double factor = scale / static_cast<double>(count);
  parallel_for(count, kLossesAtOnce, [&, width = width](std::size_t begin, std::size_t end) {
    for (std::size_t image = begin; image < end; ++image) {
      const auto row = values.subspan(image * width, width);
      const auto* entropy = std::get_if<SoftmaxCrossEntropy>(&loss);
      const double total = entropy != nullptr ? log_sum_exp(row) : 0.0;
      for (std::size_t k = 0; k < width; ++k) {
        double target = target_at(targets, image, k, width);
        auto answer = static_cast<double>(row[k]);
        if (entropy != nullptr) {
          const auto smoothing = static_cast<double>(entropy->smoothing);
          target = (1 - smoothing) * target + smoothing / static_cast<double>(width);
          answer = std::exp(answer - total);
        }
        const double slope = factor * (answer - target);
        errors[image * width + k] =
            std::abs(slope) < kLeastError ? 0.0F : static_cast<float>(slope);
      }
    }
  });
}

}  // namespace nibble::inline float_training
