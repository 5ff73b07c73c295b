// SPDX-License-Identifier: Apache-2.0
// The encoding kernel and its launch. A thread takes four vectors of four elements at a time.
#pragma once

#include "cuda/errors.h"
#include "kernels/quantize/cuda/block_scales.cuh"
#include "kernels/quantize/cuda/coders.cuh"
#include "kernels/quantize/cuda/codes.cuh"
#include "kernels/quantize/cuda/launch.h"

namespace nibble::cuda {

inline constexpr int kCodeVectors = 4;  // of a thread
inline constexpr int kCodeStride = kThreads * kVector;
inline constexpr std::int64_t kCodeTile = std::int64_t{kCodeVectors} * kCodeStride;

// The elements of a thread; zeros from the end on.
__device__ __forceinline__ void load_tile(const EncodeJob& job, std::int64_t first, bool is_whole,
                                          float (&x)[kCodeVectors][kVector]) {
  if (is_whole && job.is_aligned && job.input_type == DType::f32) {
    const auto* from =
        reinterpret_cast<const float4*>(static_cast<const float*>(job.input) + first);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      const float4 four = from[v * kThreads];
      x[v][0] = four.x, x[v][1] = four.y, x[v][2] = four.z, x[v][3] = four.w;
    }
    return;
  }
  const ConstValues input{job.input, job.input_type, is_whole && job.is_aligned};
#pragma unroll
  for (int v = 0; v < kCodeVectors; ++v) {
    load_vector(input, first + v * kCodeStride, job.count, x[v]);
  }
}

template <int kBits>
__device__ __forceinline__ void store_tile(const EncodeJob& job, std::int64_t first, bool is_whole,
                                           const FieldWords<kBits> (&codes)[kCodeVectors]) {
  auto* bytes = static_cast<std::uint8_t*>(job.codes.codes);
  if (!is_whole || !job.codes.is_aligned) {
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      const FieldWords<kBits>& c = codes[v];
      store_codes_piecewise(job.codes, first + v * kCodeStride, job.count,
                            make_uint4(c.field(0), c.field(1), c.field(2), c.field(3)));
    }
  } else if constexpr (kBits == 16) {
    auto* to = reinterpret_cast<uint2*>(bytes + 2 * first);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      to[v * kThreads] = make_uint2(codes[v].words[0], codes[v].words[1]);
    }
  } else if (job.codes.packs_nibbles) {
    auto* to = reinterpret_cast<std::uint16_t*>(bytes + first / 2);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      const std::uint32_t word = codes[v].words[0];
      to[v * kThreads] = static_cast<std::uint16_t>(__byte_perm(word | word >> 4, 0, 0x4420));
    }
  } else {
    auto* to = reinterpret_cast<std::uint32_t*>(bytes + first);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) to[v * kThreads] = codes[v].words[0];
  }
}

// The codes of y, and that of NaN where there is none.
template <class Coder>
__device__ __forceinline__ FieldWords<Coder::kBits> codes_of(const CodeJob& job, const Coder& coder,
                                                             const float (&y)[kVector]) {
  bool is_sure;
  FieldWords<Coder::kBits> codes = coder.template codes<false>(y, is_sure);
  if (is_sure) return codes;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    if (!Coder::is_number(y[e])) codes.set_field(e, job.nan_code);
  }
  return codes;
}

// Under a scale that is no power of two: from x·(1/s), or x / s where that does not decide.
template <class Coder>
__device__ __forceinline__ FieldWords<Coder::kBits> codes_of_quotients(const CodeJob& job,
                                                                       const Coder& coder,
                                                                       const Divisor& by,
                                                                       const float (&x)[kVector]) {
  float y[kVector];
  if constexpr (Coder::kTakesGuesses) {
#pragma unroll
    for (int e = 0; e < kVector; ++e) y[e] = x[e] * by.inverse;
    bool is_sure;
    const FieldWords<Coder::kBits> codes = coder.template codes<true>(y, is_sure);
    if (is_sure) return codes;
    divide_exactly(x, by.scale, y);
  } else if constexpr (Coder::kIsCoarse) {
    divide_coarsely(x, by, y);
    if (!are_finite(y)) divide_exactly(x, by.scale, y);
  } else {
    divide_vector(x, by.scale, y);
  }
  return codes_of(job, coder, y);
}

enum class CodeScale : std::uint8_t { none, one, shared_exponents, blocks };

template <class Coder, CodeScale kScale>
__global__ void __launch_bounds__(kThreads) encode_kernel(const __grid_constant__ EncodeJob job) {
  const unsigned tile = job.runs_backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const std::int64_t start = tile * kCodeTile;
  const std::int64_t first = start + threadIdx.x * kVector;
  const bool is_whole = start + kCodeTile <= job.count;
  float x[kCodeVectors][kVector];
  load_tile(job, first, is_whole, x);
  __shared__ typename Coder::Shared shared;
  if constexpr (Coder::kShares) {
    shared.fill(job.table);
    __syncthreads();
  }
  ElementScale one;  // for all, or the outer one of two levels
  if constexpr (kScale == CodeScale::one) one = tensor_scale_of(job.scales);
  if constexpr (kScale == CodeScale::blocks) one.scale = two_level_tensor_scale_of(job.scales);
  const Coder coder(job, shared, one.zero);
  FieldWords<Coder::kBits> codes[kCodeVectors];
  if constexpr (kScale == CodeScale::shared_exponents) {
    const float own = block_inverse(job.scales, first, kCodeStride, job.count, x);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      const float inverse = of_vector(own, v);
      float y[kVector];
#pragma unroll
      for (int e = 0; e < kVector; ++e) y[e] = x[v][e] * inverse;
      codes[v] = codes_of(job.codes, coder, y);
    }
  } else if constexpr (kScale == CodeScale::blocks) {
    const Divisor own = block_divisor(job.scales, one.scale, first, kCodeStride, job.count, x);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      const Divisor by{of_vector(own.scale, v), of_vector(own.inverse, v)};
      codes[v] = codes_of_quotients(job.codes, coder, by, x[v]);
    }
  } else {
    const Divisor by = divisor_of(one.scale);
#pragma unroll
    for (int v = 0; v < kCodeVectors; ++v) {
      codes[v] = kScale == CodeScale::one ? codes_of_quotients(job.codes, coder, by, x[v])
                                          : codes_of(job.codes, coder, x[v]);
    }
  }
  store_tile(job, first, is_whole, codes);
}

template <class Coder, CodeScale kScale>
void launch_encode(const EncodeJob& job, const Place& place) {
  const auto tiles = static_cast<unsigned>((job.count + kCodeTile - 1) / kCodeTile);
  encode_kernel<Coder, kScale>
      <<<tiles, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(job);
  check_launch("encode");
}

template <class Coder>
void launch_coder(const EncodeJob& job, const Place& place) {
  if (job.use == ScaleUse::none) return launch_encode<Coder, CodeScale::none>(job, place);
  if (job.use == ScaleUse::exact) {
    return launch_encode<Coder, CodeScale::shared_exponents>(job, place);
  }
  job.scales.source == ScaleSource::tensor ? launch_encode<Coder, CodeScale::one>(job, place)
                                           : launch_encode<Coder, CodeScale::blocks>(job, place);
}

inline void launch_tables(const EncodeJob& job, const Place& place) {
  const EvenCells& cells = job.table.cells;
  cells.serves && (job.use != ScaleUse::divide || cells.unsure >= 0)
      ? launch_coder<EvenTableCoder>(job, place)
      : launch_coder<SearchingTableCoder>(job, place);
}

template <template <int> class Coder>
void launch_width(const EncodeJob& job, const Place& place) {
  job.codes.bits <= 8 ? launch_coder<Coder<8>>(job, place) : launch_coder<Coder<16>>(job, place);
}

}  // namespace nibble::cuda
