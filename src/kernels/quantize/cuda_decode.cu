// SPDX-License-Identifier: Apache-2.0
// Codes to values on the device.
#include "kernels/quantize/cuda_pack.h"
#include "kernels/quantize/cuda_round.cuh"
#include "numerics/round_scaled.h"

namespace nibble::cuda {
namespace {

__device__ __forceinline__ void load_codes(const CodeJob& from, std::int64_t first,
                                           std::int64_t count, bool is_whole,
                                           std::uint32_t (&codes)[kVector]) {
  const auto* bytes = static_cast<const std::uint8_t*>(from.codes);
  if (from.packs_nibbles) {
    std::uint32_t word = 0;
    if (from.is_aligned && is_whole) {
      word = *reinterpret_cast<const std::uint16_t*>(bytes + first / 2);
    } else {
      if (first < count) word = bytes[first / 2];
      if (first + 2 < count) word |= std::uint32_t{bytes[first / 2 + 1]} << 8;
    }
#pragma unroll
    for (int e = 0; e < kVector; ++e) codes[e] = word >> 4 * e & 0xFU;
    return;
  }
  if (from.is_aligned && from.type == DType::u8 && is_whole) {
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(bytes + first);
#pragma unroll
    for (int e = 0; e < kVector; ++e) codes[e] = word >> 8 * e & 0xFFU;
    return;
  }
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    codes[e] = 0;
    if (first + e >= count) continue;
    codes[e] = from.type == DType::u8    ? bytes[first + e]
               : from.type == DType::u16 ? static_cast<const std::uint16_t*>(from.codes)[first + e]
                                         : static_cast<const std::uint32_t*>(from.codes)[first + e];
  }
}

// Of element `i`. Blocks are one after another.
__device__ __forceinline__ ElementScale stored_scale(const ScaleJob& job, float tensor_scale,
                                                     std::int64_t i) {
  ElementScale s;
  switch (job.source) {
    case ScaleSource::none:
      return s;
    case ScaleSource::tensor:
      s = tensor_scale_of(job);
      break;
    case ScaleSource::groups:
      s = group_scale_of(job, i);
      if (job.zeros == nullptr) s.zero = job.zero;
      break;
    case ScaleSource::blocks:
      s.scale = job.scales[i >> job.block_bits];
      break;
  }
  if (job.tensor_scale != nullptr) s.scale *= tensor_scale;
  return s;
}

__device__ __forceinline__ float tensor_scale_or_one(const ScaleJob& job) {
  return job.tensor_scale == nullptr ? 1.0F : *job.tensor_scale;
}

// A NaN keeps its bits.
__device__ __forceinline__ float scaled_value(float element, const ElementScale& s, float step) {
  if (element != element) return element;
  const float moved = s.zero == 0 ? element : element - static_cast<float>(s.zero) * step;
  return moved * s.scale;
}

__global__ void __launch_bounds__(kThreads) table_kernel(const __grid_constant__ DecodeJob job) {
  __shared__ float values[kDecodeTable];
  const std::uint32_t entries = 1U << job.codes.bits;
  for (unsigned i = threadIdx.x; i < entries; i += kThreads) values[i] = job.values[i];
  __syncthreads();
  const float step = job.element.family == ElementFamily::grid
                         ? static_cast<float>(job.element.grid.step())
                         : 0.0F;
  const bool is_grouped = job.scales.source == ScaleSource::groups;
  const bool is_blocked = job.scales.source == ScaleSource::blocks;
  const float tensor_scale = tensor_scale_or_one(job.scales);
  ElementScale fixed;
  if (job.scales.source == ScaleSource::tensor) fixed = stored_scale(job.scales, 1.0F, 0);
  const std::int64_t tiles = (job.count + kTile - 1) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const bool is_whole = (tile + 1) * kTile <= job.count;
    const Values output{job.output, DType::f32, is_whole && job.is_aligned};
    std::uint32_t codes[kVectors][kVector];
    std::int64_t first[kVectors];
    ElementScale scales[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      first[v] = tile * kTile + v * kThreads * kVector + threadIdx.x * kVector;
      load_codes(job.codes, first[v], job.count, is_whole, codes[v]);
      scales[v] = fixed;
      if (is_blocked && first[v] < job.count) {
        scales[v] = stored_scale(job.scales, tensor_scale, first[v]);
      }
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float result[kVector];
#pragma unroll
      for (int e = 0; e < kVector; ++e) result[e] = values[codes[v][e] & (entries - 1)];
      if (is_grouped) {
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          if (first[v] + e >= job.count) continue;
          result[e] =
              scaled_value(result[e], stored_scale(job.scales, tensor_scale, first[v] + e), step);
        }
      } else if (job.kind != ScaleKind::none) {
        const bool is_plain = !job.has_nan && fixed.zero == 0;
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          result[e] =
              is_plain ? result[e] * scales[v].scale : scaled_value(result[e], scales[v], step);
        }
      }
      store_vector(output, first[v], job.count, result);
    }
  }
}

template <class E>
__device__ __noinline__ void decode_one(const DecodeJob& job, const E& element, std::int64_t i) {
  std::uint32_t code;
  switch (job.codes.type) {
    case DType::u8:
      code = static_cast<const std::uint8_t*>(job.codes.codes)[i];
      break;
    case DType::u16:
      code = static_cast<const std::uint16_t*>(job.codes.codes)[i];
      break;
    default:
      code = static_cast<const std::uint32_t*>(job.codes.codes)[i];
      break;
  }
  double value = value_of_code(element, code);
  const bool is_nan = std::isnan(value);
  if (job.kind != ScaleKind::none) {
    const ElementScale s = stored_scale(job.scales, tensor_scale_or_one(job.scales), i);
    if constexpr (std::is_same_v<E, GridElement>) value -= s.zero * element.step();
    value *= static_cast<double>(s.scale);
    if (job.kind != ScaleKind::power_of_two) value = static_cast<double>(static_cast<float>(value));
  }
  if (job.to_double) {
    static_cast<double*>(job.output)[i] =
        is_nan ? __longlong_as_double(0x7FF8000000000000LL) : value;
  } else {
    static_cast<float*>(job.output)[i] =
        is_nan ? Lane::floats(0x7FC00000U) : static_cast<float>(value);
  }
}

__global__ void __launch_bounds__(kThreads)
    definition_kernel(const __grid_constant__ DecodeJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += step) {
    switch (job.element.family) {
      case ElementFamily::floating:
        decode_one(job, job.element.floating, i);
        break;
      case ElementFamily::grid:
        decode_one(job, job.element.grid, i);
        break;
      case ElementFamily::posit:
        decode_one(job, job.element.posit, i);
        break;
      case ElementFamily::codebook:
        decode_one(job,
                   CodebookTable{job.element.table, static_cast<std::size_t>(job.element.entries)},
                   i);
        break;
    }
  }
}

}  // namespace

void decode_elements(const DecodeJob& job, const Place& place) {
  const auto stream = static_cast<cudaStream_t>(place.stream);
  if (job.by_table) {
    // A larger table is worth keeping.
    const int blocks = job.codes.bits > 4 ? 32 : kAllBlocks;
    table_kernel<<<blocks_for((job.count + kTile - 1) / kTile, place, blocks), kThreads, 0,
                   stream>>>(job);
  } else {
    definition_kernel<<<blocks_for((job.count + kThreads - 1) / kThreads, place), kThreads, 0,
                        stream>>>(job);
  }
  check_launch("decode");
}

}  // namespace nibble::cuda
