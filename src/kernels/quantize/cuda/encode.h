// SPDX-License-Identifier: Apache-2.0
// Codes of at most 16 bits straight from values rounded to nearest even: what most encoding is.
#pragma once

#include <optional>

#include "kernels/quantize/cuda/counting.h"
#include "kernels/quantize/cuda/round.h"

namespace nibble::cuda {

struct GridCoding {
  float steps_per_one = 1;
  float lowest = 0;  // in steps
  float highest = 0;
  std::uint32_t codes = 0;  // of a word, one a field
};

struct TableCoding {
  float thresholds[kSmallTable];
  EvenCells cells;
};

struct EncodeJob {
  const void* input = nullptr;
  DType input_type = DType::f32;
  bool is_aligned = false;
  bool runs_backwards = false;
  std::int64_t count = 0;
  ScaleUse use = ScaleUse::none;
  ScaleJob scales;  // none, one to divide by, or blocks of 16 to 128
  CodeJob codes;
  RoundPlan::Family family = RoundPlan::Family::floating;
  FloatCoding floating;
  UpperBitsCoding upper_bits;  // where it is of use, instead of `floating`
  GridCoding grid;
  PositCoding posit;
  TableCoding table;
};

// Nothing where the general kernels have to serve.
std::optional<EncodeJob> make_encode_job(const RoundJob& job);

void encode(const EncodeJob& job, const Place& place);
void encode_floats(const EncodeJob& job, const Place& place);
void encode_upper_bits(const EncodeJob& job, const Place& place);
void encode_grids(const EncodeJob& job, const Place& place);
void encode_posits(const EncodeJob& job, const Place& place);
void encode_tables(const EncodeJob& job, const Place& place);

}  // namespace nibble::cuda
