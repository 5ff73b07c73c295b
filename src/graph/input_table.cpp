// SPDX-License-Identifier: Apache-2.0
// Rounds what enters a network of integers: here, before the first layer, is where floats end.
#include "graph/input_table.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "graph/integer_form.h"
#include "nibble/core/error.h"

namespace nibble::inline graph {
namespace {

constexpr double kRail = 127;  // of integer training

}  // namespace

InputRounder::InputRounder(const Precision& precision) {
  const Scaling& scaling = precision.format.scaling;
  const auto* grid = std::get_if<GridElement>(&precision.format.element);
  const bool has_one_scale =
      scaling.kind == ScaleKind::none ||
      (scaling.kind == ScaleKind::given && scaling.granularity == Granularity::tensor);
  if (grid == nullptr || grid->fraction_bits != 0 || !grid->clamps || !has_one_scale) {
    throw Error("input", "format", to_string(precision.format),
                "integers of at most 32 bits with one scale", ErrorKind::input);
  }
  scale_ = scaling.kind == ScaleKind::given ? double{scaling.scale} : 1.0;
  const bool is_trained = exponent_of(precision).has_value();
  low_ = is_trained ? -kRail : grid->lowest_n() - scaling.zero;
  high_ = is_trained ? kRail : grid->highest_n() - scaling.zero;
  is_away_ = precision.rounding.mode == RoundingMode::nearest_away;
}

double normalized(const Input& input, std::size_t channel, double byte) {
  const double mean = input.mean.empty() ? 0.0 : static_cast<double>(input.mean[channel]);
  const double deviation =
      input.deviation.empty() ? 1.0 : static_cast<double>(input.deviation[channel]);
  return (byte / 255.0 - mean) / deviation;
}

std::vector<std::int32_t> input_table(const Input& input, const Precision& precision,
                                      std::size_t channels) {
  const InputRounder rounder(precision);
  std::vector<std::int32_t> table;
  for (std::size_t c = 0; c < channels; ++c) {
    for (int byte = 0; byte < 256; ++byte) table.push_back(rounder(normalized(input, c, byte)));
  }
  return table;
}

}  // namespace nibble::inline graph
