// SPDX-License-Identifier: Apache-2.0
// The loops around a rounding operation: one scale, a scale an element, a scale a block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/quantize/float_op.h"
#include "kernels/quantize/grid_op.h"
#include "kernels/quantize/kernels.h"
#include "kernels/quantize/posit_op.h"
#include "kernels/quantize/table_op.h"

namespace nibble {

// An operation and the nearest one beside it: under a scale that is no power of two a value that is
// already fl32(q·s) must stay, whatever the rounding, and q is then the nearest.
template <class Op, class Nearest>
struct OpPair {
  Op op;
  Nearest nearest;
};

// y = x/s to q to q·s, on one vector.
template <class V, ScaleUse kUse, RoundingKind kKind, class Pair>
[[gnu::always_inline]] inline typename V::F round_vector(const Pair& pair, typename V::F x,
                                                         typename V::U draw, typename V::F scale,
                                                         typename V::F inverse) {
  if constexpr (kUse == ScaleUse::none) {
    return pair.op(x, draw);
  } else if constexpr (kUse == ScaleUse::exact) {
    typename V::F y = V::mul(x, inverse);
    if constexpr (kKind == RoundingKind::deterministic) {
      // An underflow to zero must not hide that there was something to round.
      const auto tiny = V::or_(V::and_(V::bits(x), V::set(0x80000000U)), V::set(1U));
      const auto vanished = V::both(V::equal(y, V::set(0.0F)), V::not_(V::equal(x, V::set(0.0F))));
      y = V::select(vanished, V::floats(tiny), y);
    }
    return V::mul(pair.op(y, draw), scale);
  } else {
    const typename V::F y = V::div(x, scale);
    const typename V::F result = V::mul(pair.op(y, draw), scale);
    if constexpr (kKind == RoundingKind::nearest_even) {
      return result;
    } else {
      const typename V::F kept = V::mul(pair.nearest(y, draw), scale);
      return V::select(V::equal(kept, x), kept, result);
    }
  }
}

template <class V, ScaleUse kUse, RoundingKind kKind, class Pair>
[[gnu::always_inline]] inline void run_loop(const Pair& shared, const Run& run, typename V::F s,
                                            typename V::F s_inverse) {
  const Pair pair = shared;  // a copy that no store can reach: its constants stay in registers
  const auto one_vector = [&](auto x, auto draw) __attribute__((always_inline)) {
    return round_vector<V, kUse, kKind>(pair, x, draw, s, s_inverse);
  };
  constexpr bool kDraws = kKind == RoundingKind::stochastic;
  std::size_t i = 0;
  for (; i + V::kLanes <= run.count; i += V::kLanes) {
    const auto draw = kDraws ? V::load(run.draws + i) : V::set(0U);
    const auto result = one_vector(V::load(run.input + i), draw);
    if (run.streams) {
      V::stream(run.output + i, result);
    } else {
      V::store(run.output + i, result);
    }
  }
  if (i < run.count) {
    const std::size_t rest = run.count - i;
    const auto draw = kDraws ? V::load_first(run.draws + i, rest) : V::set(0U);
    V::store_first(run.output + i, one_vector(V::load_first(run.input + i, rest), draw), rest);
  }
}

template <class V, ScaleUse kUse, RoundingKind kKind, class Pair>
void scales_loop(const Pair& shared, const Run& run, const float* scales) {
  const Pair pair = shared;
  const auto one_vector = [&](auto x, auto draw, auto s) __attribute__((always_inline)) {
    const auto inverse = kUse == ScaleUse::exact ? V::div(V::set(1.0F), s) : s;
    return round_vector<V, kUse, kKind>(pair, x, draw, s, inverse);
  };
  constexpr bool kDraws = kKind == RoundingKind::stochastic;
  std::size_t i = 0;
  for (; i + V::kLanes <= run.count; i += V::kLanes) {
    const auto draw = kDraws ? V::load(run.draws + i) : V::set(0U);
    V::store(run.output + i, one_vector(V::load(run.input + i), draw, V::load(scales + i)));
  }
  if (i < run.count) {
    const std::size_t rest = run.count - i;
    const auto draw = kDraws ? V::load_first(run.draws + i, rest) : V::set(0U);
    V::store_first(
        run.output + i,
        one_vector(V::load_first(run.input + i, rest), draw, V::load_first(scales + i, rest)),
        rest);
  }
}

// Bits of the largest magnitude; infinities count as the largest finite value, NaN
// as nothing.
template <class V>
[[gnu::always_inline]] inline std::uint32_t largest_bits(const float* input, std::size_t count) {
  const auto over = [&](auto adjust) __attribute__((always_inline)) {
    const auto magnitude_mask = V::set(0x7FFFFFFFU);
    auto largest = V::set(0U);
    std::size_t i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes) {
      const auto a = V::and_(V::bits(V::load(input + i)), magnitude_mask);
      largest = V::max_unsigned(largest, adjust(a));
    }
    if (i < count) {
      const auto a = V::and_(V::bits(V::load_first(input + i, count - i)), magnitude_mask);
      largest = V::max_unsigned(largest, adjust(a));
    }
    return V::largest(largest);
  };
  const auto plain = over([](auto a) { return a; });
  if (plain < 0x7F800000U) [[likely]]
    return plain;
  return over([](auto a) {
    const auto is_nan = V::less_unsigned(V::set(0x7F800000U), a);
    return V::select(is_nan, V::set(0U), V::min_unsigned(a, V::set(0x7F7FFFFFU)));
  });
}

// 2^exponent from -127 on, where it is subnormal; a template so that each instruction set has its
// own.
template <class V>
[[gnu::always_inline]] inline float power_of_two(int exponent) {
  const auto field = static_cast<std::uint32_t>(exponent + 127);
  return std::bit_cast<float>(field == 0 ? 0x00400000U : field << 23);
}

// The shared exponent of a block from the bits of its largest magnitude. A subnormal one is written
// as if the field below 1 were a binade too; what lies below that one ends at the lowest exponent.
template <class V>
[[gnu::always_inline]] inline int block_exponent(const BlockPlan& blocks, std::uint32_t bits) {
  const auto ordered = static_cast<std::int32_t>(bits < 0x800000U ? 2 * bits - 0x800000U : bits);
  const int field = (ordered + static_cast<std::int32_t>(blocks.exponent_round)) >> 23;
  return std::clamp(field - blocks.exponent_offset, kMinSharedExponent, kMaxSharedExponent);
}

template <class V, ScaleUse kUse, RoundingKind kKind, class Pair>
void blocks_loop(const Pair& shared, const Run& run, const BlockPlan& shared_blocks) {
  const Pair pair = shared;
  const BlockPlan blocks = shared_blocks;
  using S = typename V::Scalar;
  const FloatOp<S, RoundingKind::nearest_even> to_block_scale(*blocks.block_scale, nullptr);
  for (std::size_t i = 0; i < run.count; i += blocks.block) {
    const std::size_t count = std::min(blocks.block, run.count - i);
    const Run one{run.input + i, run.output + i, count,
                  run.draws == nullptr ? nullptr : run.draws + i, run.streams};
    const std::uint32_t bits = largest_bits<V>(one.input, count);
    if constexpr (kUse == ScaleUse::exact) {
      const int exponent = block_exponent<V>(blocks, bits);
      run_loop<V, kUse, kKind>(pair, one, V::set(power_of_two<V>(exponent)),
                               V::set(power_of_two<V>(-exponent)));
    } else {
      float scale = std::bit_cast<float>(bits) / blocks.element_max;
      if (blocks.kind == ScaleKind::two_level) {
        scale = to_block_scale(scale / blocks.tensor_scale, 0) * blocks.tensor_scale;
      } else if (scale == 0) {
        scale = 1;
      }
      if (scale == 0) {
        // A two-level block too small for its scale: all zeros, but NaN passes.
        for (std::size_t j = 0; j < count; ++j)
          one.output[j] = one.input[j] == one.input[j] ? 0.0F : one.input[j];
        continue;
      }
      run_loop<V, kUse, kKind>(pair, one, V::set(scale), V::set(scale));
    }
  }
}

}  // namespace nibble
