// SPDX-License-Identifier: Apache-2.0
// What a rounding kernel gets as its parameters, and the kernels' front doors, one a family.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "kernels/quantize/cuda/even_cells.h"
#include "kernels/quantize/grouping.h"
#include "kernels/quantize/plan.h"
#include "nibble/core/dtype.h"
#include "nibble/core/philox.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

// Where an element's scale comes from.
enum class ScaleSource : std::uint8_t {
  none,
  tensor,  // one for all
  groups,  // one a group of the grouping
  blocks,  // from the block itself: 4 to 128 elements, a power of two, one after another
};

struct ScaleJob {
  ScaleSource source = ScaleSource::none;
  bool is_short = true;  // indices fit 31 bits
  Grouping grouping;
  float scale = 1;  // tensor, where `scales` is null
  int zero = 0;
  const float* scales = nullptr;  // on the device: one, or one a group
  const std::int32_t* zeros = nullptr;
  BlockPlan blocks;
  int block_bits = 5;  // a block has 2^block_bits elements
  RoundPlan e4m3;
  const float* tensor_scale = nullptr;  // on the device, two_level blocks; null: in `blocks`
  float* stored_scales = nullptr;       // encode: where the blocks' scales go
};

// Where codes go, and how an element becomes one.
struct CodeJob {
  void* codes = nullptr;
  DType type = DType::u8;
  bool packs_nibbles = false;
  bool is_aligned = false;
  int bits = 8;
  std::uint32_t nan_code = 0;
  // Floats: bits of the fp32 value but its sign, cut and with another bias; steps below min_normal.
  std::uint32_t rebias = 0;
  float unit = 0;              // 2^(bias - 127), or 0 where fp32 does not hold it
  std::uint32_t largest = 0;   // infinity's, or the largest number's; without a sign
  std::uint32_t sign_bit = 0;  // 0 for unsigned floats
  int sign_shift = 24;         // from fp32's sign to sign_bit
  bool has_minus_zero = true;
};

inline constexpr int kSmallTable = 16;

// A codebook's plan, in the parameters where it has at most 16 entries, otherwise on the device.
struct TableJob {
  int entries = 0;
  float thresholds[kSmallTable], toward[kSmallTable], away[kSmallTable], inverse_width[kSmallTable];
  float nearest_thresholds[kSmallTable], nearest_values[kSmallTable], values[kSmallTable];
  const float* large = nullptr;  // the same seven arrays of 2^levels entries each
  EvenCells cells;               // of the first
  float undecided = 0;           // stochastic: as table_draws.h has it
};

// Philox with all that the elements share worked out: the words before the second round, but for
// the counter, and the keys from there on.
struct PhiloxKeys {
  std::uint32_t start[3] = {};
  std::uint32_t rounds[9][2] = {};
};

// Constants of floats for ordinary numbers.
struct QuickJob {
  float ratio = 1;              // 2^(23 - mantissa bits)
  float fractions_per_one = 1;  // 2^32 / the smallest quantum
};

struct RoundJob {
  const void* input = nullptr;
  void* output = nullptr;
  bool encodes = false;  // to codes instead of the output
  DType input_type = DType::f32;
  DType output_type = DType::f32;
  bool input_is_aligned = false;
  bool output_is_aligned = false;
  bool runs_backwards = false;  // what was read last is still in the caches
  std::int64_t count = 0;
  RandomKey random;
  PhiloxKeys keys;
  ScaleUse use = ScaleUse::none;
  RoundPlan plan;  // its pointers are not used
  ScaleJob scales;
  CodeJob codes;
  PositElement posit;
  Rounding rounding;
  TableJob table;
  QuickJob quick;
};

// What most floats are, which kernels tell the compiler.
inline bool has_plain_magnitude(const FloatPlan& p) {
  return p.smallest == 0 && p.parity_flip == 0 && p.parity_mask == 1 && p.has_mantissa &&
         p.has_short_stochastic;
}
inline bool is_plain(const FloatPlan& p) {
  return has_plain_magnitude(p) && p.has_plain_sign;
}
// Plain but for -0, whose code is another number's or NaN's.
inline bool lacks_minus_zero(const FloatPlan& p) {
  return has_plain_magnitude(p) && !p.has_plain_sign && p.is_signed;
}

// Whether quotients too small to be exact are rounded like the exact ones: no cell begins near
// them, or the one that begins at the entry 0.
inline bool has_coarse_thresholds(const TableJob& table, bool may_be_zero = false) {
  return std::none_of(std::begin(table.thresholds), std::end(table.thresholds),
                      [=](float t) { return std::fabs(t) < 0x1p-19F && !(may_be_zero && t == 0); });
}

// Whether besides that a number within a few ulps of an entry is nearer to it than to any other.
inline bool is_coarse(const RoundJob& job) {
  const float* const values = job.table.values;
  for (int i = 0; i < job.table.entries; ++i) {
    const float magnitude = std::fabs(values[i]);
    if (magnitude > 0x1p15F || (magnitude < 0x1p-15F && magnitude != 0)) return false;
    const float before = i > 0 ? values[i - 1] : -0x1p20F;
    if (values[i] - before < 0x1p-9F * std::max(magnitude, std::fabs(before))) return false;
  }
  return has_coarse_thresholds(job.table, job.plan.kind == RoundingKind::stochastic);
}

// Short floats that saturate, grids with bounds and small codebooks, quantized under scales to
// nearest or stochastically (without a scale nothing is won), and posits and small codebooks
// stochastically without a scale.
inline bool is_quick(const RoundJob& job) {
  if (job.encodes || job.plan.kind == RoundingKind::deterministic ||
      job.scales.source == ScaleSource::groups) {
    return false;
  }
  const bool is_table = job.plan.family == RoundPlan::Family::table;
  if (is_table && (job.table.large != nullptr || job.table.entries <= 1)) return false;
  if (job.plan.family == RoundPlan::Family::posit || job.scales.source == ScaleSource::none) {
    return (job.plan.family == RoundPlan::Family::posit || is_table) &&
           job.plan.kind == RoundingKind::stochastic && job.scales.source == ScaleSource::none;
  }
  if (is_table) {
    return job.use == ScaleUse::divide && job.scales.blocks.kind != ScaleKind::two_level &&
           is_coarse(job);
  }
  if (job.plan.family == RoundPlan::Family::grid) {
    const GridPlan& p = job.plan.grid;
    return p.clamps && p.lowest >= -0x1p20F && p.highest <= 0x1p20F && p.step >= 0x1p-20F &&
           p.step <= 0x1p20F;
  }
  const FloatPlan& p = job.plan.floating;
  return job.plan.family == RoundPlan::Family::floating && is_plain(p) && p.dropped_bits >= 16 &&
         p.small_dropped_bits == p.dropped_bits && p.beyond[0] == p.largest &&
         p.largest <= 0x49800000U && p.small_quantum >= 0x1p-20F;  // 2^20
}

// Quicker for ordinary numbers, where is_quick says so.
void round_quick_floats(const RoundJob& job, const Place& place);
void round_quick_grids(const RoundJob& job, const Place& place);
void round_quick_posits(const RoundJob& job, const Place& place);
void round_quick_tables(const RoundJob& job, const Place& place);

void round_plain_floats(const RoundJob& job, const Place& place);
void round_floats_without_minus_zero(const RoundJob& job, const Place& place);
void round_any_floats(const RoundJob& job, const Place& place);
void round_grids(const RoundJob& job, const Place& place);
void round_posits(const RoundJob& job, const Place& place);
void round_small_tables(const RoundJob& job, const Place& place);
void round_large_tables(const RoundJob& job, const Place& place);

}  // namespace nibble::cuda
