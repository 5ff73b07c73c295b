// SPDX-License-Identifier: Apache-2.0
// A batch norm of integer training once it is frozen.
#include "graph/batch_norm.h"

#include <algorithm>
#include <vector>

#include "graph/rescale_factors.h"
#include "laws/batch_norm.h"

namespace nibble::inline graph {
namespace {

constexpr std::int64_t kMostMultiplier = std::int64_t{1} << kNormMultiplierBits;

struct FrozenChannel {
  NormStatistics statistics;
  NormScale scale;
  int sum_shift = 0;

  std::int32_t bias() const { return frozen_norm_bias(statistics, scale, sum_shift); }
  std::int64_t multiplier(int places) const {
    return frozen_norm_multiplier(statistics, scale, places - sum_shift);
  }
};

std::vector<FrozenChannel> channels_of(const NormTensors& norm, const Tensor* weight) {
  const auto scales = norm.scale.as<std::int32_t>();
  const auto shifts = norm.shift.as<std::int32_t>();
  const auto means = norm.mean.as<std::int64_t>();
  const auto variances = norm.variance.as<std::int64_t>();
  std::vector<int> sum_shifts(scales.size());
  if (weight != nullptr) sum_shifts = norm_sum_shifts(weight->as<std::int8_t>(), scales.size());
  std::vector<FrozenChannel> channels;
  for (std::size_t c = 0; c < scales.size(); ++c)
    channels.push_back({{means[c], variances[c]}, {scales[c], shifts[c]}, sum_shifts[c]});
  return channels;
}

void negate_output(Tensor& weight, std::size_t output, std::size_t outputs) {
  const auto all = weight.as<std::int8_t>();
  const std::size_t depth = all.size() / outputs;
  for (std::int8_t& each : all.subspan(output * depth, depth))
    each = static_cast<std::int8_t>(-each);
}

}  // namespace

std::string fault_of(const NormTensors& norm) {
  if (norm.scale.dtype() != DType::i32 || norm.shift.dtype() != DType::i32)
    return "scale or shift that is not i32";
  if (norm.mean.dtype() != DType::i64 || norm.variance.dtype() != DType::i64)
    return "mean or variance that is not i64";
  const auto within = [](const auto& numbers, std::int64_t least, std::int64_t most) {
    return std::ranges::all_of(numbers, [&](std::int64_t x) { return x >= least && x <= most; });
  };
  const auto scales = norm.scale.as<std::int32_t>();
  if (!within(scales, -kNormScaleMost, kNormScaleMost) ||
      std::ranges::any_of(
          scales, [](std::int32_t x) { return x > -kNormScaleLeast && x < kNormScaleLeast; }))
    return "a scale out of bounds";
  if (!within(norm.shift.as<std::int32_t>(), -kNormScaleMost, kNormScaleMost))
    return "a shift out of bounds";
  if (!within(norm.mean.as<std::int64_t>(), -kNormMeanMost, kNormMeanMost))
    return "a mean out of bounds";
  if (!within(norm.variance.as<std::int64_t>(), kNormVarianceLeast, kNormVarianceMost))
    return "a variance out of bounds";
  return {};
}

// The multiplier of channel c is |γ|/σ·2^(places - sum_shift), and R(…, places + 1 +
// value_exponent) brings it back: places are as many as the largest multiplier and a shift of 62
// allow.
FrozenNorm frozen_norm(const NormTensors& norm, Tensor& weight, bool has_sums, int value_exponent) {
  const std::vector<FrozenChannel> channels = channels_of(norm, has_sums ? &weight : nullptr);
  const std::size_t count = channels.size();
  FrozenNorm frozen{.bias = Tensor(DType::i32, norm.scale.shape()),
                    .multipliers = Tensor(DType::i32, norm.scale.shape())};
  for (std::size_t c = 0; c < count; ++c) {
    frozen.bias.as<std::int32_t>()[c] = channels[c].bias();
    if (channels[c].scale.scale < 0) negate_output(weight, c, count);
  }
  int places = std::ranges::max_element(channels, {}, &FrozenChannel::sum_shift)->sum_shift;
  const auto fits = [&](int tried) {
    return tried + 1 + value_exponent <= kMaxRescaleShift &&
           std::ranges::all_of(channels, [&](const FrozenChannel& each) {
             return each.multiplier(tried) <= kMostMultiplier;
           });
  };
  while (fits(places + 1)) ++places;
  for (std::size_t c = 0; c < count; ++c) {
    frozen.multipliers.as<std::int32_t>()[c] =
        static_cast<std::int32_t>(channels[c].multiplier(places));
  }
  frozen.shift = places + 1 + value_exponent;
  return frozen;
}

std::int64_t held_channels(const NormTensors& norm, const Tensor* weight) {
  return std::ranges::count_if(channels_of(norm, weight), [](const FrozenChannel& each) {
    return is_held_norm_bias(each.bias());
  });
}

std::pair<Op, Tensor> product_of_ones(const Shape& shape) {
  const std::int64_t channels = shape[shape.rank() - 1];
  if (shape.rank() == 3) {
    Tensor weight(DType::i8, {channels, 1, 1, 1});
    std::ranges::fill(weight.as<std::int8_t>(), std::int8_t{1});
    return {Conv2d{.channels = channels, .kernel = {1, 1}, .groups = channels}, std::move(weight)};
  }
  Tensor weight(DType::i8, {channels, channels});
  const auto ones = weight.as<std::int8_t>();
  for (std::size_t i = 0; i < ones.size(); ++i)
    ones[i] = i % static_cast<std::size_t>(channels + 1) == 0 ? std::int8_t{1} : std::int8_t{0};
  return {Linear{.features = channels}, std::move(weight)};
}

}  // namespace nibble::inline graph
