// SPDX-License-Identifier: Apache-2.0
// Finds the steps of weights.
#include "quantization/weight_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <string>

#include "graph/fake_quantize.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "quantization/integer_parts.h"

namespace nibble::inline quantization {
namespace {

constexpr int kLeastHundredth = 20;

// The least step with which all fit; 0 where all are 0.
float covering_step(std::span<const float> weights, const IntegerGrid& grid) {
  const auto [low, high] = std::ranges::minmax(weights);
  const float step =
      std::max(high / static_cast<float>(grid.high), low / static_cast<float>(grid.low));
  return step > 0 ? std::max(step, FLT_MIN) : 0;
}

// In lanes of their own, so that the sum may run several at a time. The rounding is that of
// fake_quantized but for ties that the product with 1 / step makes or breaks.
double squared_error(std::span<const float> weights, float step, const IntegerGrid& grid) {
  constexpr std::size_t kLanes = 8;
  const float per_step = 1 / step;
  const auto low = static_cast<float>(grid.low);
  const auto high = static_cast<float>(grid.high);
  const auto error_of = [&](float w) {
    const float x = std::min(std::max(w * per_step, low), high);
    const auto rounded = static_cast<std::int32_t>(x + (x < 0 ? -0.5F : 0.5F));
    const float difference = w - static_cast<float>(rounded) * step;
    return difference * difference;
  };
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= weights.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += error_of(weights[i + lane]);
  }
  double sum = 0;
  for (; i < weights.size(); ++i) sum += static_cast<double>(error_of(weights[i]));
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

float cheapest_step(std::span<const float> weights, float widest, const IntegerGrid& grid) {
  float best = widest;
  double least = squared_error(weights, widest, grid);
  for (int hundredth = 99; hundredth >= kLeastHundredth && least > 0; --hundredth) {
    const float step = std::max(widest * static_cast<float>(hundredth) / 100, FLT_MIN);
    const double error = squared_error(weights, step, grid);
    if (error < least) {
      least = error;
      best = step;
    }
  }
  return best;
}

void check(const std::string& layer, ConstTensorView weight, const IntegerGrid& grid) {
  if (grid.low >= 0 || grid.high <= 0 || grid.low < -32768 || grid.high > 32767) {
    throw Error("quantize", "grid of weights of " + layer,
                fmt::format("{} to {}", grid.low, grid.high),
                "integers of at most 16 bits on both sides of 0");
  }
  if (weight.shape().rank() == 0 || weight.elements() == 0) {
    throw Error("quantize", "weights of " + layer, weight.shape().to_string(), "one at least",
                ErrorKind::input);
  }
  const auto weights = weight.as<float>();
  if (!std::ranges::all_of(weights, [](float w) { return std::isfinite(w); })) {
    throw Error("quantize", "weights of " + layer, "NaN or infinity", "finite numbers",
                ErrorKind::input);
  }
}

}  // namespace

std::vector<float> weight_steps(const std::string& layer, ConstTensorView weight,
                                bool is_per_channel, const IntegerGrid& grid, WeightMethod method) {
  check(layer, weight, grid);
  const auto weights = weight.as<float>();
  std::vector<float> steps(is_per_channel ? static_cast<std::size_t>(weight.shape()[0]) : 1);
  const std::size_t row = weights.size() / steps.size();
  parallel_for(steps.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const auto channel = weights.subspan(c * row, row);
      steps[c] = covering_step(channel, grid);
      if (steps[c] > 0 && method == WeightMethod::mse) {
        steps[c] = cheapest_step(channel, steps[c], grid);
      }
    }
  });
  const float largest = std::ranges::max(steps);
  for (float& step : steps) {
    if (step == 0) step = largest > 0 ? largest : 1.0F;
  }
  return steps;
}

ProductSteps product_steps(const Node& node, const Tensor& weight, int bits,
                           const QuantizeSettings& settings) {
  ProductSteps result{
      .format = parse_format(bits == 8 ? "int8(symmetric)" : "int" + std::to_string(bits)),
      .steps = {}};
  result.steps = counted_steps(
      weight_steps(node.name, weight.view(), settings.is_per_channel, grid_of(node, result.format),
                   settings.fits_weights ? WeightMethod::mse : WeightMethod::max));
  return result;
}

}  // namespace nibble::inline quantization
