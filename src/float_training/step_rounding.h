// SPDX-License-Identifier: Apache-2.0
// Rounding to multiples of a step, forward and back: fake_quantized of graph/fake_quantize.h
// over many numbers, and its gradients as LSQ has them (Esser and others, 2020).
#pragma once

#include <cstdint>
#include <span>

#include "graph/fake_quantize.h"

namespace nibble::inline float_training {

// What rounds a tensor: one step, or one for each index of its first axis.
struct StepGrid {
  IntegerGrid grid;
  std::span<const float> steps;
};

// y[i] = fake_quantized(x[i], step, grid), the same bits; y may be x.
void round_to_steps(std::span<const float> x, float step, const IntegerGrid& grid, float* y);

// Straight through: dx[i] = dy[i] where low <= x[i] / step <= high, else 0; dx may be dy, or null.
// Returns Σ dy·r, r = R(x / step) - x / step there, low below, high above.
double pass_back_steps(std::span<const float> x, const float* dy, float step,
                       const IntegerGrid& grid, float* dx);

// What LSQ multiplies that sum by, 1 / √(elements·high), so that steps learn as fast as weights do;
// elements share the step. A grid without positive integers counts its negative ones.
double step_gradient_factor(std::int64_t elements, const IntegerGrid& grid);

}  // namespace nibble::inline float_training
