// SPDX-License-Identifier: Apache-2.0
// From a plan to the loop compiled for its family and rounding, within one instruction set.
#pragma once

#include "kernels/quantize/draws.h"
#include "kernels/quantize/loops.h"

namespace nibble::inline kernels {

// Calls body(op, kind) with the operation of the plan and, as a type, its kind of rounding.
template <class V, class Body>
void with_operation(const RoundPlan& plan, Definition definition, const Body& body) {
  const auto with_kind = [&](auto kind) {
    constexpr RoundingKind kKind = decltype(kind)::value;
    switch (plan.family) {
      case RoundPlan::Family::floating:
        return body(FloatOp<V, kKind>(plan, definition), kind);
      case RoundPlan::Family::grid:
        return body(GridOp<V, kKind>(plan, definition), kind);
      case RoundPlan::Family::posit:
        return body(PositOp<V, kKind>(plan, definition), kind);
      case RoundPlan::Family::table:
        if (plan.table.levels == 4) {
          return body(TableOp<V, kKind, SmallTable<V>>(plan, definition), kind);
        }
        return body(TableOp<V, kKind, LargeTable<V>>(plan, definition), kind);
    }
  };
  switch (plan.kind) {
    case RoundingKind::nearest_even:
      return with_kind(std::integral_constant<RoundingKind, RoundingKind::nearest_even>{});
    case RoundingKind::deterministic:
      return with_kind(std::integral_constant<RoundingKind, RoundingKind::deterministic>{});
    case RoundingKind::stochastic:
      return with_kind(std::integral_constant<RoundingKind, RoundingKind::stochastic>{});
  }
}

template <class V>
void round_run(const RoundPlan& plan, Definition definition, const Run& run, ScaleUse use,
               float scale) {
  with_operation<V>(plan, definition, [&](const auto& op, auto kind) {
    constexpr RoundingKind kKind = decltype(kind)::value;
    switch (use) {
      case ScaleUse::none:
        return run_loop<V, ScaleUse::none, kKind>(op, run, V::set(1.0F), V::set(1.0F));
      case ScaleUse::exact:
        return run_loop<V, ScaleUse::exact, kKind>(op, run, V::set(scale), V::set(1 / scale));
      case ScaleUse::divide:
        return run_loop<V, ScaleUse::divide, kKind>(op, run, V::set(scale), V::set(scale));
    }
  });
}

template <class V>
void round_scales(const RoundPlan& plan, Definition definition, const Run& run, ScaleUse use,
                  const float* scales) {
  with_operation<V>(plan, definition, [&](const auto& op, auto kind) {
    constexpr RoundingKind kKind = decltype(kind)::value;
    if (use == ScaleUse::exact) {
      scales_loop<V, ScaleUse::exact, kKind>(op, run, scales);
    } else {
      scales_loop<V, ScaleUse::divide, kKind>(op, run, scales);
    }
  });
}

template <class V>
void round_blocks(const RoundPlan& plan, Definition definition, const Run& run,
                  const BlockPlan& blocks) {
  with_operation<V>(plan, definition, [&](const auto& op, auto kind) {
    constexpr RoundingKind kKind = decltype(kind)::value;
    if (blocks.kind == ScaleKind::power_of_two) {
      blocks_loop<V, ScaleUse::exact, kKind>(op, run, blocks);
    } else {
      blocks_loop<V, ScaleUse::divide, kKind>(op, run, blocks);
    }
  });
}

template <class V>
float largest_magnitude(const float* input, std::size_t count) {
  return std::bit_cast<float>(largest_bits<V>(input, count));
}

template <class V>
constexpr QuantizeKernels kernels_of() {
  return {round_run<V>, round_scales<V>, round_blocks<V>, largest_magnitude<V>, fill_draws<V>};
}

}  // namespace nibble::inline kernels
