// SPDX-License-Identifier: Apache-2.0
// The rounding kernel for ordinary numbers. A vector with NaN, under a scale near the ends of
// fp32's range, or with a draw that the operation does not decide goes through the operations that
// serve all.
#pragma once

#include "kernels/quantize/cuda/quick_blocks.cuh"
#include "kernels/quantize/cuda/round.cuh"

namespace nibble::cuda {

inline constexpr int kQuickVectors = kScaled;            // of a thread
inline constexpr int kQuickStride = kThreads * kVector;  // from a vector of a thread to its next
inline constexpr std::int64_t kQuickTile = std::int64_t{kQuickVectors} * kQuickStride;

// Of kernels that prepare something, so that they do it once for many tiles.
inline constexpr int kQuickWaves = 8;

// All tiles are whole, and fp32 to fp32: nothing has to be asked for each vector.
inline bool is_regular(const RoundJob& job) {
  return job.count % kQuickTile == 0 && job.input_type == DType::f32 &&
         job.output_type == DType::f32 && job.input_is_aligned && job.output_is_aligned &&
         (job.scales.source != ScaleSource::blocks ||
          (1 << job.scales.block_bits) >= kScaled * kVector);
}

// Long arithmetic waits less with more threads, although each has fewer registers.
constexpr int quick_blocks_a_multiprocessor(RoundingKind kind, ScaleUse use) {
  return kind == RoundingKind::stochastic && use == ScaleUse::divide ? 5 : 4;
}

template <class Family, ScaleUse kUse, RoundingKind kKind>
__device__ __noinline__ void round_rare_four(const RoundJob& job, std::int64_t first, bool is_whole,
                                             ElementScale s) {
  const Family family(job);
  const auto op = family.template operation<kKind>(job, s.zero);
  float x[kVector];
  load_vector({job.input, job.input_type, false}, first, job.count, x);
  std::uint32_t draws[kVector] = {};
  if constexpr (kKind == RoundingKind::stochastic) {
#pragma unroll 1
    for (int e = 0; e < kVector; ++e) {
      draws[e] = draw_one({job.random, job.plan.random_bits}, first + e);
    }
  }
  round_four<Family, kUse, kKind>(job, family, op, first, is_whole, s, x, draws);
}

template <template <RoundingKind, ScaleUse, bool> class Quick, RoundingKind kKind, ScaleUse kUse,
          bool kShort, OwnBlocks kBlocks, bool kRegular>
__global__ void __launch_bounds__(kThreads, quick_blocks_a_multiprocessor(kKind, kUse))
    quick_kernel(const __grid_constant__ RoundJob job) {
  using Op = Quick<kKind, kUse, kShort>;
  ElementScale scale;
  constexpr bool kHasBlocks = kBlocks != OwnBlocks::none;
  if constexpr (kUse != ScaleUse::none && !kHasBlocks) scale = tensor_scale_of(job.scales);
  const Op op(job, scale.zero);
  auto scaled = op.under(scale.scale, scale.inverse);
  const QuickBlocks<kUse, kBlocks> blocks(job.scales);
  const bool is_usual =
      kHasBlocks ? blocks.has_ordinary_scale : kUse != ScaleUse::divide || is_ordinary(scale.scale);
  const bool shares = kRegular || blocks.shares(job.scales);
  const std::int64_t tiles = (job.count + kQuickTile - 1) / kQuickTile;
  for (std::int64_t turn = blockIdx.x; turn < tiles; turn += gridDim.x) {
    const std::int64_t tile = job.runs_backwards ? tiles - 1 - turn : turn;
    const bool is_whole = kRegular || (tile + 1) * kQuickTile <= job.count;
    const std::int64_t first = tile * kQuickTile + threadIdx.x * kVector;
    const ConstValues input{job.input, kRegular ? DType::f32 : job.input_type,
                            kRegular || (is_whole && job.input_is_aligned)};
    const Values output{job.output, kRegular ? DType::f32 : job.output_type,
                        kRegular || (is_whole && job.output_is_aligned)};
    float x[kQuickVectors][kVector];
#pragma unroll
    for (int v = 0; v < kQuickVectors; ++v) {
      load_vector(input, first + v * kQuickStride, job.count, x[v]);
    }
    ElementScale own;
    if constexpr (kHasBlocks) {
      if (shares) own = blocks.own_scale(job.scales, x);
    }
    std::uint32_t rare = 0;  // a bit a vector
#pragma unroll
    for (int pair = 0; pair < kQuickVectors; pair += 2) {
      std::uint32_t draws[2][kVector] = {};
      if constexpr (kKind == RoundingKind::stochastic) {
        const std::int64_t at = first + pair * kQuickStride;
        aligned_draws<kShort>(job, at, at + kQuickStride, draws);
      }
#pragma unroll
      for (int v = pair; v < pair + 2; ++v) {
        bool is_rare = !is_usual;
        if constexpr (kHasBlocks) {
          scale = blocks.scale_of_vector(job.scales, shares, own, v, x[v]);
          is_rare = is_rare || scale.scale != scale.scale;
          scaled = op.under(scale.scale, scale.inverse);
        } else {
          // Of NaN, or of infinities, or of too large numbers.
          const float sum = (x[v][0] + x[v][1]) + (x[v][2] + x[v][3]);
          is_rare = is_rare || !(Op::kTakesInfinities ? sum == sum : fabsf(sum) < 0x1p127F);
        }
        if (is_rare) {
          rare |= 1U << v;
          continue;
        }
        float values[kVector] = {};
        if ((kBlocks != OwnBlocks::two_levels || scale.scale != 0) &&
            !op.round(scaled, x[v], draws[v % 2], values)) {
          rare |= 1U << v;
          continue;
        }
        store_vector(output, first + v * kQuickStride, job.count, values);
      }
    }
    if (!__any_sync(kAllLanes, rare != 0)) continue;
#pragma unroll 1
    for (int v = 0; v < kQuickVectors; ++v) {
      const std::int64_t at = first + v * kQuickStride;
      if constexpr (kHasBlocks) {
        // Blocks are rare as a whole: what is found of others does not matter.
        float again[kVector];
        load_vector(input, at, job.count, again);
        scale = block_scale_of<kUse>(job.scales, false, at, job.count, again);
      }
      if ((rare >> v & 1U) != 0) {
        round_rare_four<typename Op::Family, kUse, kKind>(job, at, is_whole, scale);
      }
    }
  }
}

template <template <RoundingKind, ScaleUse, bool> class Quick, RoundingKind kKind, ScaleUse kUse,
          bool kShort, OwnBlocks kBlocks>
void launch_quick(const RoundJob& job, const Place& place) {
  using Op = Quick<kKind, kUse, kShort>;
  const auto launch = [&](auto* kernel) {
    constexpr int kBlocksAMultiprocessor =
        Op::kPrepares ? kQuickWaves * quick_blocks_a_multiprocessor(kKind, kUse) : kAllBlocks;
    const unsigned count =
        blocks_for((job.count + kQuickTile - 1) / kQuickTile, place, kBlocksAMultiprocessor);
    kernel<<<count, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(job);
  };
  if constexpr (Op::kPrepares) {
    if (is_regular(job)) return launch(quick_kernel<Quick, kKind, kUse, kShort, kBlocks, true>);
  }
  launch(quick_kernel<Quick, kKind, kUse, kShort, kBlocks, false>);
}

template <template <RoundingKind, ScaleUse, bool> class Quick, RoundingKind kKind, bool kShort>
void launch_quick_divided(const RoundJob& job, const Place& place) {
  if (job.scales.source != ScaleSource::blocks) {
    launch_quick<Quick, kKind, ScaleUse::divide, kShort, OwnBlocks::none>(job, place);
  } else if (job.scales.blocks.kind != ScaleKind::two_level) {
    launch_quick<Quick, kKind, ScaleUse::divide, kShort, OwnBlocks::one_level>(job, place);
  } else if constexpr (Quick<kKind, ScaleUse::divide, kShort>::kHasTwoLevels) {
    launch_quick<Quick, kKind, ScaleUse::divide, kShort, OwnBlocks::two_levels>(job, place);
  }
}

template <template <RoundingKind, ScaleUse, bool> class Quick, RoundingKind kKind, bool kShort>
void launch_quick_use(const RoundJob& job, const Place& place) {
  const bool has_blocks = job.scales.source == ScaleSource::blocks;
  if (job.use == ScaleUse::exact && has_blocks) {
    launch_quick<Quick, kKind, ScaleUse::exact, kShort, OwnBlocks::one_level>(job, place);
  } else if (job.use == ScaleUse::exact) {
    launch_quick<Quick, kKind, ScaleUse::exact, kShort, OwnBlocks::none>(job, place);
  } else {
    launch_quick_divided<Quick, kKind, kShort>(job, place);
  }
}

template <template <RoundingKind, ScaleUse, bool> class Quick>
void launch_quick_kind(const RoundJob& job, const Place& place) {
  if (job.plan.kind == RoundingKind::nearest_even) {
    launch_quick_use<Quick, RoundingKind::nearest_even, false>(job, place);
  } else if (job.plan.random_bits <= 16) {
    launch_quick_use<Quick, RoundingKind::stochastic, true>(job, place);
  } else {
    launch_quick_use<Quick, RoundingKind::stochastic, false>(job, place);
  }
  check_launch("quantize");
}

// Stochastically, without a scale.
template <template <RoundingKind, ScaleUse, bool> class Quick>
void launch_quick_draws(const RoundJob& job, const Place& place) {
  constexpr auto kKind = RoundingKind::stochastic;
  job.plan.random_bits <= 16
      ? launch_quick<Quick, kKind, ScaleUse::none, true, OwnBlocks::none>(job, place)
      : launch_quick<Quick, kKind, ScaleUse::none, false, OwnBlocks::none>(job, place);
  check_launch("quantize");
}

// Stochastically without a scale, or under one to divide by.
template <template <RoundingKind, ScaleUse, bool> class Quick>
void launch_quick_elements(const RoundJob& job, const Place& place) {
  if (job.use == ScaleUse::none) return launch_quick_draws<Quick>(job, place);
  if (job.plan.kind == RoundingKind::nearest_even) {
    launch_quick_divided<Quick, RoundingKind::nearest_even, false>(job, place);
  } else if (job.plan.random_bits <= 16) {
    launch_quick_divided<Quick, RoundingKind::stochastic, true>(job, place);
  } else {
    launch_quick_divided<Quick, RoundingKind::stochastic, false>(job, place);
  }
  check_launch("quantize");
}

}  // namespace nibble::cuda
