// SPDX-License-Identifier: Apache-2.0
// The loops around a rounding operation: one scale, a scale an element, a scale a block.
#pragma once

#include <algorithm>

#include "kernels/quantize/block_scales.h"
#include "kernels/quantize/float_op.h"
#include "kernels/quantize/grid_op.h"
#include "kernels/quantize/kernels.h"
#include "kernels/quantize/posit_op.h"
#include "kernels/quantize/round_vector.h"
#include "kernels/quantize/table_op.h"

namespace nibble::inline kernels {

template <class V, ScaleUse kUse, RoundingKind kKind, class Op>
NIBBLE_INLINE void run_loop(const Op& shared, const Run& run, typename V::F s,
                            typename V::F s_inverse) {
  const Op op = shared;  // a copy that no store can reach: its constants stay in registers
  const auto one_vector = [&](auto x, auto draw) __attribute__((always_inline)) {
    return round_vector<V, kUse, kKind>(op, x, draw, s, s_inverse).value;
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

template <class V, ScaleUse kUse, RoundingKind kKind, class Op>
void scales_loop(const Op& shared, const Run& run, const float* scales) {
  const Op op = shared;
  const auto one_vector = [&](auto x, auto draw, auto s) __attribute__((always_inline)) {
    const auto inverse = kUse == ScaleUse::exact ? V::div(V::set(1.0F), s) : s;
    return round_vector<V, kUse, kKind>(op, x, draw, s, inverse).value;
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

// A two-level block too small for its scale: zeros, but NaN passes.
template <class V>
void zero_loop(const Run& run) {
  for (std::size_t i = 0; i < run.count; ++i) {
    const float x = run.input[i];
    run.output[i] = x == x ? 0.0F : x;
  }
}

template <class V, ScaleUse kUse, RoundingKind kKind, class Op>
void blocks_loop(const Op& shared, const Run& run, const BlockPlan& blocks) {
  const Op op = shared;
  const std::size_t block = blocks.block;
  for (std::size_t group = 0; group < run.count; group += BlockScales<V>::kBlocks * block) {
    const std::size_t end = std::min(run.count, group + BlockScales<V>::kBlocks * block);
    const BlockScales<V> scales(blocks, run.input + group, end - group);
    for (std::size_t i = group, b = 0; i < end; i += block, ++b) {
      const Run one{run.input + i, run.output + i, std::min(block, end - i),
                    run.draws == nullptr ? nullptr : run.draws + i, run.streams};
      if (scales.scale[b] == 0) {
        zero_loop<V>(one);
      } else {
        run_loop<V, kUse, kKind>(op, one, V::set(scales.scale[b]), V::set(scales.inverse[b]));
      }
    }
  }
}

}  // namespace nibble::inline kernels
