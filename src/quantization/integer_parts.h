// SPDX-License-Identifier: Apache-2.0
// What an integer network is made of: units that its integers count in, formats, weights and
// biases, rescales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/fake_quantize.h"
#include "graph/model_writer.h"
#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// An operand of an add that is brought to another unit.
struct UnitChange {
  std::size_t add = 0;  // the node
  std::size_t operand = 0;
  std::vector<double> unit;
};
std::vector<UnitChange> unit_changes_of(const Model& fake_quantized, IntegerForm form);

// By node: the unit of its integers, one for all or one a channel.
std::vector<std::vector<double>> units_of(const Model& fake_quantized);

// Of at most 16 bits, with the grid in units of `step` as its values: int8(symmetric,scale=…),
// uint4(scale=…), uint8(scale=…,zero=…). Throws, naming the node, where the grid is no such format.
Precision grid_format(const Node& node, const FakeQuantize& grid, float step);

// The steps that integers count in: those given, but none below 2^-12 of the largest. Channels that
// died in training have steps near 0, in which a bias or an addend would leave 32 bits.
std::vector<float> counted_steps(std::span<const float> steps);

// fake_quantized(w, step) in counted steps; one step, or one an output. Packed below 8
// bits.
Tensor integer_weights(const Tensor& weight, std::span<const float> steps,
                       std::span<const float> counted, const IntegerGrid& grid);

Precision integer_weight_format(const IntegerGrid& grid);  // int2 … int8

// R(bias / unit) as i32; throws, naming the node, where that does not fit.
Tensor integer_bias(const Node& node, const Tensor& bias, std::span<const double> units);

struct RescaleNode {
  std::string name;
  std::size_t input = 0;
  std::int64_t low = -127;
  std::int64_t high = 127;
  Precision value;
  std::vector<double> factors = {};  // one for all, or one a channel
};

// One multiplier where all factors are equal.
std::size_t add_rescale(ModelWriter& to, RescaleNode rescale, IntegerForm form);

}  // namespace nibble::inline quantization
