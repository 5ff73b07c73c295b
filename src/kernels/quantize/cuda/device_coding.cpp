// SPDX-License-Identifier: Apache-2.0
// Which encodings have kernels of their own, and their constants.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/quantize/cuda/encode.h"

namespace nibble::cuda {
namespace {

constexpr int kLeastBlockBits = 4;

// Codes stand in fields of 8 or 16 bits of a word.
int field_bits(int code_bits) {
  return code_bits <= 8 ? 8 : 16;
}
std::uint32_t in_each_field(int code_bits, std::uint32_t code) {
  return code * (field_bits(code_bits) == 8 ? 0x01010101U : 0x00010001U);
}

bool lower(const RoundJob& job, FloatCoding& p) {
  const FloatPlan& f = job.plan.floating;
  const int mantissa_bits = 23 - static_cast<int>(f.dropped_bits);
  const int bits = job.codes.bits;
  const float min_normal = std::bit_cast<float>(f.min_normal);
  if (!(is_plain(f) || lacks_minus_zero(f)) ||
      f.small_quantum != std::ldexp(min_normal, -mantissa_bits) || min_normal < 0x1p-40F) {
    return false;
  }
  const std::uint32_t after = f.largest + (1U << f.dropped_bits);
  if (f.beyond[0] != f.largest && f.beyond[0] != 0x7F800000U) return false;
  const std::uint32_t limit = f.beyond[0] == f.largest ? f.largest : after;
  if ((limit >> 23) + f.dropped_bits > 254) return false;
  p.limit = std::bit_cast<float>(limit);
  p.least = f.min_normal;
  p.shift = f.dropped_bits;
  // The exponent's field of the code starts at 0: mod 2^8 that is the lowest taken off.
  const std::uint32_t taken_off = (0U - (f.min_normal >> 23)) & 0xFFU;
  p.factor = std::ldexp(1.0F, static_cast<int>(f.dropped_bits)) + static_cast<float>(taken_off);
  p.sure = std::ldexp(1.0F, -mantissa_bits - 1) - 0x1p-19F;
  p.magnitudes = in_each_field(bits, (1U << (bits - 1)) - 1);
  p.signs = in_each_field(bits, 1U << (bits - 1));
  p.sign_shift = field_bits(bits) - bits;
  const std::uint32_t top = 1U << (field_bits(bits) - 1);
  p.has_sign = in_each_field(bits, is_plain(f) ? top : top - 1);
  return true;
}

bool lower(const RoundJob& job, UpperBitsCoding& p) {
  const FloatPlan& f = job.plan.floating;
  const int mantissa_bits = 23 - static_cast<int>(f.dropped_bits);
  const bool has_all_exponents = f.min_normal == 0x00800000U &&
                                 f.largest + (1U << f.dropped_bits) == 0x7F800000U &&
                                 f.beyond[0] == 0x7F800000U && f.infinite[0] == 0x7F800000U;
  if (!is_plain(f) || f.dropped_bits < 16 || !has_all_exponents ||
      job.codes.bits != 9 + mantissa_bits ||
      f.small_quantum != std::ldexp(0x1p-126F, -mantissa_bits)) {
    return false;
  }
  p = {f.dropped_bits, f.half_less_one};
  return true;
}

bool lower(const RoundJob& job, GridCoding& p) {
  const GridPlan& g = job.plan.grid;
  if (g.steps_per_one < 0x1p-20F || g.steps_per_one > 0x1p20F) return false;
  const int bits = job.codes.bits;
  p = {g.steps_per_one, g.lowest, g.highest, in_each_field(bits, (1U << bits) - 1)};
  return true;
}

bool lower(const RoundJob& job, PositCoding& p) {
  const int bits = job.posit.bits;
  const int es = job.posit.exponent_bits;
  p.last = static_cast<std::uint32_t>(bits - 2) << (24 + es);
  p.shift = 1 + es;
  p.lost = (1U << p.shift) - 2;
  p.one = std::bit_cast<std::uint32_t>(std::ldexp(1.0F, bits - 2));
  p.codes = in_each_field(bits, (1U << bits) - 1);
  p.tops = in_each_field(bits, 1U << (bits - 1));
  p.top_shift = field_bits(bits) - bits;
  return true;
}

bool lower(const RoundJob& job, TableCoding& p) {
  if (job.table.large != nullptr) return false;
  if (job.use == ScaleUse::divide && !has_coarse_thresholds(job.table)) return false;
  std::copy(std::begin(job.table.thresholds), std::end(job.table.thresholds), p.thresholds);
  p.cells = job.table.cells;
  return true;
}

bool serves(const RoundJob& job) {
  const ScaleJob& s = job.scales;
  if (job.plan.kind != RoundingKind::nearest_even || job.codes.bits > 16) return false;
  if (job.use == ScaleUse::none) return true;
  const bool is_blocked = s.source == ScaleSource::blocks && s.block_bits >= kLeastBlockBits;
  if (job.use == ScaleUse::exact) return is_blocked;
  // A scale may be zero there.
  if (is_blocked && s.blocks.kind == ScaleKind::two_level) {
    return job.codes.bits <= 8 && (job.plan.family == RoundPlan::Family::floating ||
                                   job.plan.family == RoundPlan::Family::grid);
  }
  return is_blocked || s.source == ScaleSource::tensor;
}

}  // namespace

std::optional<EncodeJob> make_encode_job(const RoundJob& job) {
  if (!serves(job)) return std::nullopt;
  EncodeJob result;
  result.input = job.input;
  result.input_type = job.input_type;
  result.is_aligned = job.input_is_aligned;
  result.runs_backwards = job.runs_backwards;
  result.count = job.count;
  result.use = job.use;
  result.scales = job.scales;
  result.codes = job.codes;
  result.family = job.plan.family;
  bool has_coding = false;
  switch (job.plan.family) {
    case RoundPlan::Family::floating:
      has_coding = lower(job, result.floating) || lower(job, result.upper_bits);
      break;
    case RoundPlan::Family::grid:
      has_coding = lower(job, result.grid);
      break;
    case RoundPlan::Family::posit:
      has_coding = lower(job, result.posit);
      break;
    case RoundPlan::Family::table:
      has_coding = lower(job, result.table);
      break;
  }
  return has_coding ? std::optional(result) : std::nullopt;
}

void encode(const EncodeJob& job, const Place& place) {
  switch (job.family) {
    case RoundPlan::Family::floating:
      return job.upper_bits.shift != 0 ? encode_upper_bits(job, place) : encode_floats(job, place);
    case RoundPlan::Family::grid:
      return encode_grids(job, place);
    case RoundPlan::Family::posit:
      return encode_posits(job, place);
    case RoundPlan::Family::table:
      return encode_tables(job, place);
  }
}

}  // namespace nibble::cuda
