// SPDX-License-Identifier: Apache-2.0
// Rounds weights and biases.
#include "quantize/integer_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node_error.h"

namespace nibble {
namespace {

constexpr float kLeastShare = 1.0F / 4096;

bool has_four_bits(const IntegerGrid& grid) {
  return grid.low >= -8 && grid.high <= 7;
}

}  // namespace

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
  const auto integer = [&](std::size_t i) {
    const float real = fake_quantized(reals[i], steps[i / run], grid);
    return static_cast<int>(quantized(real, counted[i / run], grid));
  };
  if (!has_four_bits(grid)) {
    Tensor bytes(DType::i8, weight.shape());
    for (std::size_t i = 0; i < reals.size(); ++i) {
      bytes.as<std::int8_t>()[i] = static_cast<std::int8_t>(integer(i));
    }
    return bytes;
  }
  Tensor halves(DType::u8, {static_cast<std::int64_t>((reals.size() + 1) / 2)});
  for (std::size_t i = 0; i < reals.size(); i += 2) {
    const int high = i + 1 < reals.size() ? integer(i + 1) : 0;
    halves.as<std::uint8_t>()[i / 2] =
        static_cast<std::uint8_t>((integer(i) & 15) | ((high & 15) << 4));
  }
  return halves;
}

Precision integer_weight_format(const IntegerGrid& grid) {
  return {.format = parse_format(has_four_bits(grid) ? "int4" : "int8")};
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

}  // namespace nibble
