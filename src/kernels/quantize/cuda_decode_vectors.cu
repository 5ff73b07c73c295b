// SPDX-License-Identifier: Apache-2.0
// Codes of at most 8 bits to values, under no scale, one, or one a block.
#include "cuda/errors.h"
#include "kernels/quantize/cuda_codes.cuh"
#include "kernels/quantize/cuda_decoders.cuh"
#include "kernels/quantize/cuda_launch.h"
#include "kernels/quantize/cuda_scale.cuh"

namespace nibble::cuda {
namespace {

constexpr int kVectors = 4;  // of a thread
constexpr int kStride = kThreads * kVector;
constexpr std::int64_t kTile = std::int64_t{kVectors} * kStride;

// Four codes, as they are in memory where they are whole, otherwise in the bytes of a word.
__device__ __forceinline__ void load_words(const DecodeJob& job, std::int64_t start, bool is_whole,
                                           std::uint32_t (&words)[kVectors]) {
  const auto* bytes = static_cast<const std::uint8_t*>(job.codes.codes);
  if (!is_whole) {
    for (int v = 0; v < kVectors; ++v) {
      std::uint32_t codes[kVector];
      load_codes(job.codes, start + v * kStride, job.count, false, codes);
      words[v] = codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24;
    }
  } else if (job.codes.packs_nibbles) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      words[v] = *reinterpret_cast<const std::uint16_t*>(bytes + start / 2 + v * (kStride / 2));
    }
  } else {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      words[v] = *reinterpret_cast<const std::uint32_t*>(bytes + start + v * kStride);
    }
  }
}

// Each code at the top of a byte.
__device__ __forceinline__ std::uint32_t topped(const DecodeJob& job, bool is_packed,
                                                std::uint32_t word) {
  if (!is_packed) return word << job.top_shift & job.tops;
  const std::uint32_t pairs = __byte_perm(word, 0, 0x1100);
  return pairs & 0xF000F000U | pairs << 4 & 0x00F000F0U;
}

template <class Decoder, ScaleSource kSource>
__global__ void __launch_bounds__(kThreads) decode_kernel(const __grid_constant__ DecodeJob job) {
  __shared__ float table[Decoder::kUsesTable ? kDecodeTable : 1];
  if constexpr (Decoder::kUsesTable) {
    for (unsigned i = threadIdx.x; i < 1U << job.codes.bits; i += kThreads) table[i] = job.values[i];
    __syncthreads();
  }
  ElementScale one;
  if constexpr (kSource == ScaleSource::tensor) one = tensor_scale_of(job.scales);
  const float outer = job.scales.tensor_scale == nullptr ? 1.0F : *job.scales.tensor_scale;
  const Decoder decoder(job, table, one.zero);
  const std::int64_t tiles = (job.count + kTile - 1) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t start = tile * kTile + threadIdx.x * kVector;
    const bool is_whole = (tile + 1) * kTile <= job.count;
    const bool is_direct = is_whole && job.codes.is_aligned;
    std::uint32_t words[kVectors];
    float scales[kVectors];
    load_words(job, start, is_direct, words);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t first = start + v * kStride;
      scales[v] = one.scale;
      if (kSource == ScaleSource::blocks && (is_whole || first < job.count)) {
        scales[v] = job.scales.scales[first >> job.scales.block_bits];
      }
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const float scale = kSource == ScaleSource::blocks ? scales[v] * outer : scales[v];
      const std::uint32_t word = topped(job, is_direct && job.codes.packs_nibbles, words[v]);
      float result[kVector];
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        result[e] = decoder.value(word, e);
        if constexpr (kSource != ScaleSource::none) result[e] *= scale;
      }
      if (decoder.has_special(word)) {
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          const std::uint32_t code = (word >> 8 * e & 0xFFU) >> job.top_shift;
          const float element = job.values[code];
          result[e] = element != element || kSource == ScaleSource::none ? element
                                                                         : element * scale;
        }
      }
      store_vector({job.output, DType::f32, is_whole && job.is_aligned}, start + v * kStride,
                   job.count, result);
    }
  }
}

template <class Decoder>
void launch(const DecodeJob& job, const Place& place) {
  const unsigned blocks = blocks_for((job.count + kTile - 1) / kTile, place,
                                     Decoder::kUsesTable ? kKeptBlocks : kAllBlocks);
  const auto stream = static_cast<cudaStream_t>(place.stream);
  switch (job.scales.source) {
    case ScaleSource::tensor:
      decode_kernel<Decoder, ScaleSource::tensor><<<blocks, kThreads, 0, stream>>>(job);
      break;
    case ScaleSource::blocks:
      decode_kernel<Decoder, ScaleSource::blocks><<<blocks, kThreads, 0, stream>>>(job);
      break;
    default:
      decode_kernel<Decoder, ScaleSource::none><<<blocks, kThreads, 0, stream>>>(job);
      break;
  }
  check_launch("decode");
}

}  // namespace

void decode_vectors(const DecodeJob& job, const Place& place) {
  switch (job.way) {
    case DecodeWay::floats:
      return launch<FloatDecoder>(job, place);
    case DecodeWay::grids:
      return launch<GridDecoder>(job, place);
    default:
      return launch<TableDecoder>(job, place);
  }
}

}  // namespace nibble::cuda
