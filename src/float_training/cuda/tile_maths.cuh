// SPDX-License-Identifier: Apache-2.0
// How a block multiplies two tiles that lie in shared memory, depth by depth: in fp32 by each
// thread, or on tensor cores in the narrower types. Sums are in fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

namespace nibble::cuda {

constexpr int kTileRows = 64;  // and as many columns
constexpr int kTileDepth = 16;
constexpr int kTileThreads = 256;

// Lines have some room behind them, so that neighbours in depth lie in other banks.
template <class Element>
constexpr int kTileLine = kTileRows + 16 / static_cast<int>(sizeof(Element));
template <class Element>
using Tile = Element[kTileDepth][kTileLine<Element>];
using SumTile = float[kTileRows][kTileLine<float>];

// Four by four sums a thread.
struct PlainMaths {
  using Element = float;
  static constexpr int kSide = 4;
  static constexpr int kThreadsAcross = kTileRows / kSide;

  float sums[kSide][kSide];

  __device__ static int first_row() {
    return static_cast<int>(threadIdx.x) / kThreadsAcross * kSide;
  }
  __device__ static int first_column() {
    return static_cast<int>(threadIdx.x) % kThreadsAcross * kSide;
  }
  __device__ static Element element(float value) { return value; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) sums[i][j] = 0.0F;
    }
  }
  __device__ void add(const Tile<Element>& left, const Tile<Element>& right) {
#pragma unroll
    for (int depth = 0; depth < kTileDepth; ++depth) {
      const float4 l = *reinterpret_cast<const float4*>(&left[depth][first_row()]);
      const float4 r = *reinterpret_cast<const float4*>(&right[depth][first_column()]);
      const float row[kSide] = {l.x, l.y, l.z, l.w};
      const float column[kSide] = {r.x, r.y, r.z, r.w};
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) sums[i][j] = __fmaf_rn(row[i], column[j], sums[i][j]);
      }
    }
  }
  __device__ void store(SumTile& to) const {
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) to[first_row() + i][first_column() + j] = sums[i][j];
    }
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

__device__ inline __half narrowed(float value, __half) {
  return __float2half_rn(value);
}
__device__ inline __nv_bfloat16 narrowed(float value, __nv_bfloat16) {
  return __float2bfloat16_rn(value);
}
__device__ inline float narrowed(float value, float) {
  return value;
}

// Eight warps, 4 by 2, each of 16 rows by 32 columns. Kind is the fragments' word for the type,
// Stored the type in shared memory, kStep the depths of one instruction.
template <class Kind, class Stored, int kStep>
struct TensorMaths {
  using Element = Stored;
  static constexpr int kSide = 16;
  static constexpr int kLine = kTileLine<Element>;
  using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, kStep, float>;
  using Left = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, kSide, kSide, kStep, Kind,
                                      nvcuda::wmma::col_major>;
  using Right = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, kSide, kSide, kStep, Kind,
                                       nvcuda::wmma::row_major>;

  Sums sums[2];

  __device__ static int first_row() { return static_cast<int>(threadIdx.x) / 32 / 2 * kSide; }
  __device__ static int first_column() {
    return static_cast<int>(threadIdx.x) / 32 % 2 * 2 * kSide;
  }
  // Exact, since operands are of this type already.
  __device__ static Element element(float value) { return narrowed(value, Element()); }

  __device__ void clear() {
    for (Sums& each : sums) nvcuda::wmma::fill_fragment(each, 0.0F);
  }
  __device__ void add(const Tile<Element>& left, const Tile<Element>& right) {
#pragma unroll
    for (int depth = 0; depth < kTileDepth; depth += kStep) {
      Left rows;
      nvcuda::wmma::load_matrix_sync(rows, &left[depth][first_row()], kLine);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        Right columns;
        nvcuda::wmma::load_matrix_sync(columns, &right[depth][first_column() + j * kSide], kLine);
        nvcuda::wmma::mma_sync(sums[j], rows, columns, sums[j]);
      }
    }
  }
  __device__ void store(SumTile& to) const {
#pragma unroll
    for (int j = 0; j < 2; ++j)
      nvcuda::wmma::store_matrix_sync(&to[first_row()][first_column() + j * kSide], sums[j],
                                      kTileLine<float>, nvcuda::wmma::mem_row_major);
  }
};

using Tf32Maths = TensorMaths<nvcuda::wmma::precision::tf32, float, 8>;
using Fp16Maths = TensorMaths<__half, __half, 16>;
using Bf16Maths = TensorMaths<__nv_bfloat16, __nv_bfloat16, 16>;

#else  // operands are fp32 values all the same

using Tf32Maths = PlainMaths;
using Fp16Maths = PlainMaths;
using Bf16Maths = PlainMaths;

#endif

}  // namespace nibble::cuda
