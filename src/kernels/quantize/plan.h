// SPDX-License-Identifier: Apache-2.0
// A format and a rounding lowered to the constants the vector kernels work with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nibble/numerics/format.h"

namespace nibble::inline kernels {

// Bit patterns below are of fp32 magnitudes unless said otherwise.
struct FloatPlan {
  std::uint32_t dropped_bits = 0;   // mantissa bits cut from a normal value: 23 - m
  std::uint32_t keep_mask = 0;      // ~(2^dropped_bits - 1)
  std::uint32_t half_less_one = 0;  // 2^(dropped_bits-1) - 1; 0 where nothing is cut
  std::uint32_t parity_mask = 0;    // 1, or 0 where nothing is cut
  std::uint32_t parity_flip = 0;  // without a mantissa parity is the exponent's, moved by the bias
  bool has_mantissa = true;
  std::uint32_t min_normal = 0;          // below it the quantum is small_quantum
  std::uint32_t small_dropped_bits = 0;  // bits cut from a value in the binade of min_normal
  float small_quantum = 0;
  float small_magic = 0;              // 2^23 · small_quantum: adding it rounds to the quantum
  float small_steps_per_one = 0;      // 1 / small_quantum
  bool has_short_stochastic = false;  // it is an fp32 value, and some bits are cut
  std::uint32_t draw_mask = 0;        // 2^r - 1
  int draw_shift = 0;                 // r - dropped_bits
  std::uint32_t smallest = 0;         // what results are raised to: 0, or the least of e8m0
  std::uint32_t largest = 0;
  std::array<std::uint32_t, 2> beyond = {};    // of a positive, of a negative overflow
  std::array<std::uint32_t, 2> infinite = {};  // of +infinity, of -infinity
  bool has_plain_sign = true;                  // signed and with -0
  bool is_signed = true;
  std::uint32_t below_zero = 0;  // of negative values where there is no sign
};

struct GridPlan {
  float steps_per_one = 1;  // 2^fraction_bits
  float step = 1;
  float lowest = 0;  // in steps, moved by the zero point
  float highest = 0;
  bool clamps = true;
};

struct PositPlan {
  std::uint32_t binade_shift = 23;  // 23 + es: where the regime starts in the fp32 pattern
  std::uint32_t base_cut = 0;       // bits cut = base_cut + length of the regime (two's complement)
  std::uint32_t smallest = 0;
  std::uint32_t largest = 0;
};

// A codebook searched by comparing with the least value of each next entry.
struct TablePlan {
  int levels = 0;                        // 2^levels entries after padding
  const float* thresholds = nullptr;     // NaN-padded: entry i+1 starts at thresholds[i]
  const float* toward = nullptr;         // deterministic: the result of each index;
  const float* away = nullptr;           // stochastic: the ends of each cell
  const float* inverse_width = nullptr;  // and 1 / (away - toward)
  float first = 0;
  float last = 0;
};

enum class RoundingKind : std::uint8_t { nearest_even, deterministic, stochastic };

class RoundProgram;

// Plain data: code compiled for one instruction set must not instantiate anything others share.
struct RoundPlan {
  enum class Family : std::uint8_t { floating, grid, posit, table };
  Family family = Family::floating;
  RoundingKind kind = RoundingKind::nearest_even;
  RoundingMode mode = RoundingMode::nearest_even;
  int random_bits = 32;
  FloatPlan floating;
  GridPlan grid;
  PositPlan posit;
  TablePlan table;
  const RoundPlan* nearest = nullptr;     // the same element rounded to nearest even
  const RoundProgram* program = nullptr;  // for the rare lanes that are left to the definition
};

// Owns a plan and what it points to.
class RoundProgram {
 public:
  // Nothing where only the definition serves (exotic biases and ranges).
  static std::unique_ptr<const RoundProgram> make(const Format& format, int zero,
                                                  const Rounding& rounding, Overflow overflow);

  // The same, remembered for the next calls of this thread.
  static std::shared_ptr<const RoundProgram> remembered(const Format& format, int zero,
                                                        const Rounding& rounding,
                                                        Overflow overflow);

  const RoundPlan& plan() const { return plan_; }

  // The definition's answer for one element, already divided by its scale.
  float define(float y, std::uint32_t draw) const;

 private:
  RoundProgram() = default;
  bool lower(const FloatElement& element);
  bool lower(const GridElement& element);
  bool lower(const PositElement& element);
  bool lower(const CodebookElement& element);
  float start_of(float low, float high) const;

  Element element_;
  int zero_ = 0;
  Rounding rounding_;
  Overflow overflow_ = Overflow::native;
  RoundPlan plan_;
  std::vector<float> thresholds_, toward_, away_, inverse_width_;
  std::unique_ptr<const RoundProgram> nearest_;
};

// How the kernels treat a scale.
enum class ScaleUse : std::uint8_t {
  none,
  exact,   // a power of two: multiply by its inverse, then by it
  divide,  // y = fl32(x / s), and values already in the format stay
};

// How blocks of a line get their scale from their largest magnitude.
struct BlockPlan {
  ScaleKind kind = ScaleKind::power_of_two;
  std::size_t block = 32;
  // power_of_two, a normal amax: e = ((bits(amax) + exponent_round) >> 23) - exponent_offset,
  // clamped to E8M0.
  std::uint32_t exponent_round = 0;
  int exponent_offset = 0;
  float element_max = 1;
  float tensor_scale = 1;                  // two_level
  const RoundPlan* block_scale = nullptr;  // two_level: e4m3
};

// Nothing where blocks are not scaled by their largest magnitude.
std::optional<BlockPlan> make_block_plan(const Format& format);

}  // namespace nibble::inline kernels
