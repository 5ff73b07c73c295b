// SPDX-License-Identifier: Apache-2.0
// Makes the formats, weights, biases and rescales of an integer network.
#include "quantization/integer_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"
#include "graph/parameters.h"
#include "graph/rescale_factors.h"

namespace nibble::inline quantization {
namespace {

constexpr float kLeastShare = 1.0F / 4096;

int bits_of(const IntegerGrid& grid) {
  int bits = 2;
  while (grid.low < -(1 << (bits - 1)) || grid.high >= 1 << (bits - 1)) ++bits;
  return bits;
}

}  // namespace

Precision grid_format(const Node& node, const FakeQuantize& grid, float step) {
  Precision precision;
  Scaling& scaling = precision.format.scaling;
  scaling.kind = ScaleKind::given;
  scaling.scale = step;
  const bool is_symmetric = grid.low == -grid.high;
  const std::int64_t levels = grid.high - grid.low + 1 + (is_symmetric ? 1 : 0);
  int bits = 1;
  while ((std::int64_t{1} << bits) < levels) ++bits;
  if (levels != std::int64_t{1} << bits || bits > 16) {
    fail_node(node, "grid", fmt::format("{} to {}", grid.low, grid.high),
              "all integers of a format of at most 16 bits");
  }
  if (!is_symmetric) scaling.zero = static_cast<int>(-grid.low);
  precision.format.element =
      GridElement{.bits = bits, .is_signed = is_symmetric, .is_symmetric = is_symmetric};
  return precision;
}

std::vector<float> counted_steps(std::span<const float> steps) {
  const float least = std::ranges::max(steps) * kLeastShare;
  std::vector<float> counted;
  for (const float step : steps) counted.push_back(std::max(step, least));
  return counted;
}

Tensor integer_weights(const Tensor& weight, std::span<const float> steps,
                       std::span<const float> counted, const IntegerGrid& grid) {
  const std::span<const float> reals = weight.as<float>();
  const std::size_t run = reals.size() / steps.size();
  Tensor integers(DType::i8, weight.shape());
  const std::span<std::int8_t> numbers = integers.as<std::int8_t>();
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const float real = fake_quantized(reals[i], steps[i / run], grid);
    numbers[i] = static_cast<std::int8_t>(quantized(real, counted[i / run], grid));
  }
  if (bits_of(grid) == 8) return integers;
  const std::vector<std::uint8_t> bytes = packed_weights(numbers, bits_of(grid));
  Tensor packed(DType::u8, {static_cast<std::int64_t>(bytes.size())});
  std::ranges::copy(bytes, packed.as<std::uint8_t>().begin());
  return packed;
}

Precision integer_weight_format(const IntegerGrid& grid) {
  return {.format = parse_format(fmt::format("int{}", bits_of(grid)))};
}

Tensor integer_bias(const Node& node, const Tensor& bias, std::span<const double> units) {
  Tensor result(DType::i32, bias.shape());
  const std::span<const float> reals = bias.as<float>();
  for (std::size_t c = 0; c < reals.size(); ++c) {
    const double integer = std::round(double{reals[c]} / units[units.size() == 1 ? 0 : c]);
    if (!(std::abs(integer) <= static_cast<double>(kMaxInteger))) {
      fail_node(node, "bias",
                fmt::format("{} in units of {}", reals[c], units[units.size() == 1 ? 0 : c]),
                "32 bits");
    }
    result.as<std::int32_t>()[c] = static_cast<std::int32_t>(integer);
  }
  return result;
}

std::size_t add_rescale(ModelWriter& to, RescaleNode rescale, IntegerForm form) {
  std::vector<double>& factors = rescale.factors;
  if (std::ranges::all_of(factors, [&](double each) { return each == factors[0]; })) {
    factors.resize(1);
  }
  const RescaleFactors integers =
      form == IntegerForm::nvidia ? u16_factors(factors) : rescale_factors(factors);
  std::vector<Tensor> tensors;
  tensors.emplace_back(DType::i32, Shape{static_cast<std::int64_t>(factors.size())});
  std::ranges::copy(integers.multipliers, tensors[0].as<std::int32_t>().begin());
  return to.add({.name = std::move(rescale.name),
                 .op = Rescale{.shift = integers.shift,
                               .low = rescale.low,
                               .high = rescale.high,
                               .is_per_channel = factors.size() > 1},
                 .inputs = {rescale.input},
                 .value = rescale.value},
                std::move(tensors));
}

}  // namespace nibble::inline quantization
