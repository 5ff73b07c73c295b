// SPDX-License-Identifier: Apache-2.0
// Applies a policy to tensors, in place.
#include "float_training/rounder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "float_training/streams.h"
#include "float_training/weight_quantizer.h"
#include "nibble/core/error.h"
#include "nibble/core/parallel.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline float_training {
namespace {

constexpr std::size_t kRoundedAtOnce = 65536;

// Divides by the least power of two that is not below the largest magnitude.
void normalize(TensorView values) {
  const auto x = values.as<float>();
  std::vector<float> largest((x.size() + kRoundedAtOnce - 1) / kRoundedAtOnce, 0.0F);
  parallel_for(x.size(), kRoundedAtOnce, [&](std::size_t begin, std::size_t end) {
    float most = 0;
    for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(x[i]));
    largest[begin / kRoundedAtOnce] = most;
  });
  const float most = largest.empty() ? 0.0F : *std::ranges::max_element(largest);
  if (!(most > 0) || !std::isfinite(most)) return;
  int exponent = 0;
  const float fraction = std::frexp(most, &exponent);  // in [½, 1)
  if (fraction == 0.5F) --exponent;
  // In two steps, for 2^-exponent itself may be beyond the largest float.
  const float first = std::ldexp(1.0F, -exponent / 2);
  const float second = std::ldexp(1.0F, -exponent - -exponent / 2);
  parallel_for(x.size(), kRoundedAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) x[i] = x[i] * first * second;
  });
}

}  // namespace

void Rounder::round(const RoundingRule* rule, const RoundingPlace& place, std::uint32_t step,
                    TensorView values) {
  const bool is_observed = observer_ != nullptr && place.parameter == 0;
  if (rule == nullptr && !is_observed) return;
  if (rule != nullptr && rule->is_normalized) normalize(values);
  Tensor before;
  if (is_observed) {
    before = Tensor(DType::f32, values.shape());
    std::memcpy(before.data(), values.data(), values.bytes());
  }
  if (rule != nullptr && !rule->precision.is_float32()) {
    const auto stream = static_cast<std::uint32_t>((static_cast<std::size_t>(place.role) << 20) +
                                                   (place.node << 4) + place.parameter);
    const QuantizeOptions options{.rounding = rule->precision.rounding,
                                  .overflow = rule->precision.overflow,
                                  .random = {seed_, kRoundingStreams + stream, step}};
    quantize(values, values, rule->precision.format, options);
  }
  if (is_observed) {
    observer_->observe(place.role, network_->nodes[place.node].name, before.view(), values, rule);
  }
}

void Rounder::show_weight(std::size_t node, ConstTensorView weight,
                          std::span<const float> steps) const {
  if (observer_ == nullptr) return;
  const Node& layer = network_->nodes[node];
  const IntegerGrid grid = grid_of(layer, layer.weight.format);
  Tensor after(DType::f32, weight.shape());
  round_weight(weight, steps, grid, after.view());
  observer_->observe(Role::weight, layer, weight, std::as_const(after).view(), {grid, steps});
}

void Rounder::show_value(std::size_t node, ConstTensorView before, ConstTensorView after,
                         std::span<const float> step) const {
  if (observer_ == nullptr) return;
  const Node& layer = network_->nodes[node];
  const auto& op = std::get<FakeQuantize>(layer.op);
  observer_->observe(Role::activation, layer, before, after, {{op.low, op.high}, step});
}

std::vector<std::uint8_t> clamp_mask(ConstTensorView values, const Format& format) {
  if (format.scaling.kind != ScaleKind::none) {
    throw Error("policy", "clamped = \"zero\"", to_string(format),
                "a format with a range of its own");
  }
  const ElementInfo info = describe(format.element);
  const auto x = values.as<float>();
  std::vector<std::uint8_t> mask(x.size());
  parallel_for(x.size(), kRoundedAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(x[i]);
      mask[i] = static_cast<std::uint8_t>(value > info.max || value < info.lowest);
    }
  });
  return mask;
}

void zero_where(const std::vector<std::uint8_t>& mask, TensorView values) {
  const auto x = values.as<float>();
  parallel_for(x.size(), kRoundedAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (mask[i] != 0) x[i] = 0.0F;
    }
  });
}

}  // namespace nibble::inline float_training
