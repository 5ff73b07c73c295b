// SPDX-License-Identifier: Apache-2.0
// Codes of at most 8 bits straight from values rounded to nearest even: what most encoding is.
#pragma once

#include <optional>

#include "kernels/quantize/cuda/round.h"

namespace nibble::cuda {

// A code's magnitude is how many steps of its binade there are beyond those below it.
struct FloatCoding {
  float limit = 0;               // what counts no more: the largest number, or the code after it
  std::uint32_t least = 0;       // 2^emin as fp32 bits: below it steps stay as they are
  std::uint32_t shift = 0;       // 23 - m
  float factor = 0;              // 2^(23-m), so that adding it counts; its last bits take emin off
  float sure = 0;                // how far from a step, in 2^e, no error of a guess matters
  std::uint32_t magnitudes = 0;  // of four codes, one a byte
  std::uint32_t signs = 0;
  int sign_shift = 0;  // from the top of a byte
};

struct GridCoding {
  float steps_per_one = 1;
  float lowest = 0;  // in steps
  float highest = 0;
  std::uint32_t codes = 0;  // of four, one a byte
};

// counting.cuh has the formula.
struct PositCoding {
  std::uint32_t last = 0;  // of the doubled pattern less its bias: where the regime is longest
  int shift = 1;           // 1 + es
  std::uint32_t lost = 0;  // what the shift cuts off
  std::uint32_t one = 0;   // bits of 2^(n-2)
  std::uint32_t codes = 0;
  std::uint32_t tops = 0;  // of four codes, one a byte
  int top_shift = 0;
};

struct TableCoding {
  float thresholds[kSmallTable];
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
  GridCoding grid;
  PositCoding posit;
  TableCoding table;
};

// Nothing where the general kernels have to serve.
std::optional<EncodeJob> make_encode_job(const RoundJob& job);

void encode(const EncodeJob& job, const Place& place);
void encode_floats(const EncodeJob& job, const Place& place);
void encode_grids(const EncodeJob& job, const Place& place);
void encode_posits(const EncodeJob& job, const Place& place);
void encode_tables(const EncodeJob& job, const Place& place);

}  // namespace nibble::cuda
