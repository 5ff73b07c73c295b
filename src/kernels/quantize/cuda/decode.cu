// SPDX-License-Identifier: Apache-2.0
// Codes to values on the device.
#include "kernels/quantize/cuda/decode.h"
#include "kernels/quantize/cuda/round.cuh"
#include "numerics/round_scaled.h"

namespace nibble::cuda {
namespace {

// Of element `i`, times the outer scale. Blocks are one after another.
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
  s.scale *= tensor_scale;
  return s;
}

// A NaN keeps its bits.
__device__ __forceinline__ float scaled_value(float element, const ElementScale& s, float step) {
  if (element != element) return element;
  const float moved = s.zero == 0 ? element : element - static_cast<float>(s.zero) * step;
  return moved * s.scale;
}

// Each element with the scale of its own group.
__global__ void __launch_bounds__(kThreads) groups_kernel(const __grid_constant__ DecodeJob job) {
  __shared__ float values[kDecodeTable];
  const std::uint32_t entries = 1U << job.codes.bits;
  for (unsigned i = threadIdx.x; i < entries; i += kThreads) values[i] = job.values[i];
  __syncthreads();
  const float step = job.element.family == ElementFamily::grid
                         ? static_cast<float>(job.element.grid.step())
                         : 0.0F;
  const float tensor_scale = two_level_tensor_scale_of(job.scales);
  const std::int64_t tiles = (job.count + kTile - 1) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const bool is_whole = (tile + 1) * kTile <= job.count;
    const Values output{job.output, DType::f32, is_whole && job.is_aligned};
    std::uint32_t codes[kVectors][kVector];
    std::int64_t first[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      first[v] = tile * kTile + v * kThreads * kVector + threadIdx.x * kVector;
      load_codes(job.codes, first[v], job.count, is_whole, codes[v]);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float result[kVector];
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        if (first[v] + e >= job.count) continue;
        result[e] = scaled_value(values[codes[v][e] & (entries - 1)],
                                 stored_scale(job.scales, tensor_scale, first[v] + e), step);
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
    const ElementScale s = stored_scale(job.scales, two_level_tensor_scale_of(job.scales), i);
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
  const bool has_way = job.decoding.way != DecodeWay::definition;
  if (has_way && job.scales.source != ScaleSource::groups) return decode_vectors(job, place);
  if (has_way && job.codes.bits <= 8) {
    groups_kernel<<<blocks_for((job.count + kTile - 1) / kTile, place, kKeptBlocks), kThreads, 0,
                    stream>>>(job);
  } else {
    definition_kernel<<<blocks_for((job.count + kThreads - 1) / kThreads, place), kThreads, 0,
                        stream>>>(job);
  }
  check_launch("decode");
}

}  // namespace nibble::cuda
