// SPDX-License-Identifier: Apache-2.0
// The rounding kernel and its launch. A thread takes two vectors of four elements at a time.
#pragma once

#include "cuda/errors.h"
#include "kernels/quantize/cuda/codes.cuh"
#include "kernels/quantize/cuda/draws.cuh"
#include "kernels/quantize/cuda/families.cuh"
#include "kernels/quantize/cuda/scale.cuh"
#include "kernels/quantize/round_vector.h"

namespace nibble::cuda {

inline constexpr int kVectors = 2;  // of a thread
inline constexpr std::int64_t kTile = std::int64_t{kThreads} * kVectors * kVector;

// A GPU's arithmetic replaces the bits of a NaN, which a CPU passes on: the element and value of x
// where the value is NaN.
template <class Family>
__device__ __forceinline__ RoundedVector<Lane> restored_nan(const RoundJob& job, float x,
                                                            float element) {
  if (x == x) return {element, element};
  const float nan = Family::passed_nan(job, x);
  return {nan, nan};
}

// One vector whose elements share a scale.
template <class Family, ScaleUse kUse, RoundingKind kKind, class Op>
__device__ __forceinline__ void round_four(const RoundJob& job, const Family& family, const Op& op,
                                           std::int64_t first, bool is_whole, const ElementScale& s,
                                           const float (&x)[kVector],
                                           const std::uint32_t (&draws)[kVector]) {
  float values[kVector];
  float elements[kVector];
  bool has_nan = false;
  if (kUse == ScaleUse::divide && s.scale == 0) {
    // A two-level block too small for its scale: zeros, but NaN passes.
#pragma unroll
    for (int e = 0; e < kVector; ++e) elements[e] = values[e] = x[e] == x[e] ? 0.0F : x[e];
  } else {
    float y[kVector];
    if constexpr (kUse == ScaleUse::divide) divide_vector(x, s.scale, y);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      RoundedVector<Lane> rounded;
      if constexpr (kUse == ScaleUse::divide) {
        rounded = round_divided<Lane, kKind>(op, x[e], y[e], draws[e], s.scale);
      } else {
        rounded = round_vector<Lane, kUse, kKind>(op, x[e], draws[e], s.scale, s.inverse);
      }
      values[e] = rounded.value;
      elements[e] = rounded.element;
      has_nan = has_nan || values[e] != values[e];
    }
  }
  if constexpr (kUse != ScaleUse::none || !Family::kPassesNaN) {
    if (has_nan) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        if (values[e] == values[e]) continue;
        const auto restored = restored_nan<Family>(job, x[e], elements[e]);
        values[e] = restored.value;
        elements[e] = restored.element;
      }
    }
  }
  if (!job.encodes) {
    store_vector({job.output, job.output_type, is_whole && job.output_is_aligned}, first, job.count,
                 values);
    return;
  }
  std::uint32_t codes[kVector];
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    codes[e] =
        elements[e] == elements[e] ? family.code(job, elements[e], s.zero) : job.codes.nan_code;
  }
  store_codes(job.codes, first, job.count, is_whole, codes);
}

template <class Family, RoundingKind kKind, ScaleUse kUse, bool kBlocks>
__global__ void __launch_bounds__(kThreads) round_kernel(const __grid_constant__ RoundJob job) {
  const Family family(job);
  const std::int64_t tiles = (job.count + kTile - 1) / kTile;
  ElementScale scale;
  if constexpr (kUse != ScaleUse::none && !kBlocks) scale = tensor_scale_of(job.scales);
  const auto op = family.template operation<kKind>(job, scale.zero);
  for (std::int64_t turn = blockIdx.x; turn < tiles; turn += gridDim.x) {
    const std::int64_t tile = job.runs_backwards ? tiles - 1 - turn : turn;
    const bool is_whole = (tile + 1) * kTile <= job.count;
    const ConstValues input{job.input, job.input_type, is_whole && job.input_is_aligned};
    const std::int64_t first[kVectors] = {
        tile * kTile + threadIdx.x * kVector,
        tile * kTile + kThreads * kVector + threadIdx.x * kVector};
    float x[kVectors][kVector];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) load_vector(input, first[v], job.count, x[v]);
    std::uint32_t draws[kVectors][kVector] = {};
    if constexpr (kKind == RoundingKind::stochastic) {
      draw_two_vectors(job, first[0], first[1], draws);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kBlocks)
        scale = block_scale_of<kUse>(job.scales, job.encodes, first[v], job.count, x[v]);
      round_four<Family, kUse, kKind>(job, family, op, first[v], is_whole, scale, x[v], draws[v]);
    }
  }
}

// A thread takes an element: any grouping, and families that are not worth more code.
template <class Family, RoundingKind kKind, ScaleUse kUse>
__global__ void __launch_bounds__(kThreads)
    round_single_kernel(const __grid_constant__ RoundJob job) {
  const Family family(job);
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += step) {
    const ElementScale scale = scale_at(job.scales, i);
    const float x = load_value(job.input, job.input_type, i);
    const std::uint32_t draw =
        kKind == RoundingKind::stochastic ? draw_one({job.random, job.plan.random_bits}, i) : 0;
    const auto op = family.template operation<kKind>(job, scale.zero);
    RoundedVector<Lane> rounded;
    if (kUse == ScaleUse::divide && scale.scale == 0) {
      // As the CPU has it: along the last axis NaN passes as it is.
      const float nan = job.scales.grouping.inner == 1 ? x : quiet(x);
      rounded.element = rounded.value = x == x ? 0.0F : nan;
    } else {
      rounded = round_vector<Lane, kUse, kKind>(op, x, draw, scale.scale, scale.inverse);
      const bool keeps_nan = kUse == ScaleUse::none && Family::kPassesNaN;
      if (!keeps_nan && rounded.value != rounded.value) {
        rounded = restored_nan<Family>(job, x, rounded.element);
      }
    }
    if (!job.encodes) {
      store_value(job.output, job.output_type, i, rounded.value);
    } else {
      const bool is_nan = rounded.element != rounded.element;
      store_code(job.codes, i,
                 is_nan ? job.codes.nan_code : family.code(job, rounded.element, scale.zero));
    }
  }
}

template <class Family, RoundingKind kKind, ScaleUse kUse, bool kBlocks>
void launch(const RoundJob& job, const Place& place) {
  round_kernel<Family, kKind, kUse, kBlocks>
      <<<blocks_for((job.count + kTile - 1) / kTile, place, Family::kBlocksPerMultiprocessor),
         kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(job);
}

template <class Family, RoundingKind kKind, ScaleUse kUse>
void launch_source(const RoundJob& job, const Place& place) {
  if (Family::kSingle || job.scales.source == ScaleSource::groups) {
    round_single_kernel<Family, kKind, kUse>
        <<<blocks_for((job.count + kThreads - 1) / kThreads, place), kThreads, 0,
           static_cast<cudaStream_t>(place.stream)>>>(job);
    return;
  }
  if constexpr (!Family::kSingle) {
    if constexpr (kUse == ScaleUse::none) {
      launch<Family, kKind, kUse, false>(job, place);
    } else {
      job.scales.source == ScaleSource::blocks ? launch<Family, kKind, kUse, true>(job, place)
                                               : launch<Family, kKind, kUse, false>(job, place);
    }
  }
}

template <class Family, RoundingKind kKind>
void launch_use(const RoundJob& job, const Place& place) {
  switch (job.use) {
    case ScaleUse::none:
      return launch_source<Family, kKind, ScaleUse::none>(job, place);
    case ScaleUse::exact:
      return launch_source<Family, kKind, ScaleUse::exact>(job, place);
    case ScaleUse::divide:
      return launch_source<Family, kKind, ScaleUse::divide>(job, place);
  }
}

template <class Family>
void launch_kind(const RoundJob& job, const Place& place) {
  switch (job.plan.kind) {
    case RoundingKind::nearest_even:
      launch_use<Family, RoundingKind::nearest_even>(job, place);
      break;
    case RoundingKind::deterministic:
      launch_use<Family, RoundingKind::deterministic>(job, place);
      break;
    case RoundingKind::stochastic:
      launch_use<Family, RoundingKind::stochastic>(job, place);
      break;
  }
  check_launch(job.encodes ? "encode" : "quantize");
}

}  // namespace nibble::cuda
