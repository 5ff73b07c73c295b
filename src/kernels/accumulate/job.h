// SPDX-License-Identifier: Apache-2.0
// What the vector algorithm is told: plain numbers, so that files of every instruction set can read
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/accumulate/reference.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels::accumulation {

// An element as the lanes round to it. The spacing of numbers around a magnitude y is
// clamp(2^floor(log2 y), least_scale, most_scale) / 2^mantissa_bits.
struct LaneElement {
  std::int64_t mantissa_bits = 0;
  double least_scale = 0;    // floats: the smallest normal; grids: the step, with 0 mantissa bits
  double most_scale = 0;     // floats: infinity; grids: the step
  double flushes_below = 0;  // without subnormals magnitudes below have the
  double flushed_scale = 0;  //   scale whose spacing is the smallest normal
  double highest = 0;        // finite values beyond become `above` or `below`, infinities their own
  double lowest = 0;
  double above = 0;
  double below = 0;
  double above_infinite = 0;
  double below_infinite = 0;
  double zero = 0;  // added last: +0 leaves one zero, -0 keeps the sign
};

enum class LaneRounding : std::uint8_t {
  nearest_float,  // nearest_even for floats with subnormals and both zeros: the fast case
  nearest,
  toward_zero,
  stochastic,
};

struct Job {
  Operands operands;
  float* c = nullptr;
  std::int64_t chunk = 1;
  SumMethod method = SumMethod::separate;
  SumOrder order = SumOrder::sequential;
  LaneRounding rounding = LaneRounding::nearest;
  bool plain_sums = false;  // the sum of two doubles need not be rounded to odd
  LaneElement product;
  LaneElement sum;
  RandomKey random;
  int random_bits = 0;
  std::uint64_t draws_per_output = 0;
};

// The job of a product, or nothing where only the definition covers the accumulator.
std::optional<Job> make_job(const Operands& operands, float* c, const Accumulator& accumulator);

// Computes the outputs of the tile whose first output is (row, column).
using RunTile = void (*)(const Job& job, std::int64_t row, std::int64_t column);

struct TileKernel {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  RunTile run = nullptr;
};

// Throws where a format, a chunk length or an order cannot be computed with.
void check_accumulator(const Accumulator& accumulator);

}  // namespace nibble::inline kernels::accumulation
