// SPDX-License-Identifier: Apache-2.0
// Codes of at most 8 bits to values, under no scale, one, or one a block.
#include "cuda/errors.h"
#include "kernels/quantize/cuda/codes.cuh"
#include "kernels/quantize/cuda/decoders.cuh"
#include "kernels/quantize/cuda/launch.h"
#include "kernels/quantize/cuda/scale.cuh"

namespace nibble::cuda {
namespace {

constexpr int kVectors = 2;  // of a thread
constexpr int kStride = kThreads * kVector;
static_assert(kStride % kDecodedBlock == 0);
constexpr std::int64_t kTile = std::int64_t{kVectors} * kStride;

// Each code at the top of a byte.
__device__ __forceinline__ std::uint32_t topped_nibbles(std::uint32_t word) {
  const std::uint32_t pairs = __byte_perm(word, 0, 0x1100);
  return pairs & 0xF000F000U | pairs << 4 & 0x00F000F0U;
}
__device__ __forceinline__ std::uint32_t topped_bytes(const DecodeJob& job, std::uint32_t word) {
  return word << job.top_shift & job.tops;
}

template <class Decoder, bool kScales>
__device__ __forceinline__ void decode_four(const DecodeJob& job, const Decoder& decoder,
                                            std::uint32_t word, float scale,
                                            float (&result)[kVector]) {
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    result[e] = decoder.value(word, e);
    if constexpr (kScales) result[e] *= scale;
  }
  if (!decoder.has_special(word)) return;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    const float element = Decoder::kUsesTable
                              ? decoder.value(word, e)
                              : job.values[(word >> 8 * e & 0xFFU) >> job.top_shift];
    // A NaN keeps its bits.
    result[e] = kScales && element == element ? element * scale : element;
  }
}

// A tile whose vectors are all whole and aligned.
template <class Decoder, ScaleSource kSource>
__device__ __forceinline__ void decode_tile(const DecodeJob& job, const Decoder& decoder,
                                            std::int64_t start, float scale) {
  const auto* bytes = static_cast<const std::uint8_t*>(job.codes.codes);
  std::uint32_t words[kVectors];
  if (job.codes.packs_nibbles) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(bytes + start / 2);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) words[v] = from[v * (kStride / kVector)];
  } else {
    const auto* from = reinterpret_cast<const std::uint32_t*>(bytes + start);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) words[v] = from[v * (kStride / kVector)];
  }
  float scales[kVectors];
  if constexpr (kSource == ScaleSource::blocks) {
    const float* from = job.scales.scales + (start >> job.scales.block_bits);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) scales[v] = from[v * (kStride >> job.scales.block_bits)];
  }
  auto* to = static_cast<float*>(job.output) + start;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::uint32_t word =
        job.codes.packs_nibbles ? topped_nibbles(words[v]) : topped_bytes(job, words[v]);
    float r[kVector];
    decode_four<Decoder, kSource != ScaleSource::none>(
        job, decoder, word, kSource == ScaleSource::blocks ? scales[v] * scale : scale, r);
    store_16_bytes(to + v * kStride, make_uint4(Lane::bits(r[0]), Lane::bits(r[1]),
                                                Lane::bits(r[2]), Lane::bits(r[3])));
  }
}

// Any other.
template <class Decoder, ScaleSource kSource>
__device__ __forceinline__ void decode_pieces(const DecodeJob& job, const Decoder& decoder,
                                              std::int64_t start, float scale) {
#pragma unroll 1
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t first = start + v * kStride;
    if (first >= job.count) return;
    std::uint32_t codes[kVector];
    load_codes(job.codes, first, job.count, false, codes);
    const std::uint32_t word = codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24;
    float own = scale;
    if (kSource == ScaleSource::blocks) own *= job.scales.scales[first >> job.scales.block_bits];
    float result[kVector];
    decode_four<Decoder, kSource != ScaleSource::none>(job, decoder, topped_bytes(job, word), own,
                                                       result);
    store_vector({job.output, DType::f32, false}, first, job.count, result);
  }
}

template <class Decoder, ScaleSource kSource>
__global__ void __launch_bounds__(kThreads) decode_kernel(const __grid_constant__ DecodeJob job) {
  __shared__ float table[Decoder::kUsesTable ? kDecodeTable : 1];
  if constexpr (Decoder::kUsesTable) {
    for (unsigned i = threadIdx.x; i < 1U << job.codes.bits; i += kThreads)
      table[i] = job.values[i];
    __syncthreads();
  }
  ElementScale one;
  if constexpr (kSource == ScaleSource::tensor) one = tensor_scale_of(job.scales);
  if constexpr (kSource == ScaleSource::blocks) one.scale = two_level_tensor_scale_of(job.scales);
  const Decoder decoder(job, table, one.zero);
  const std::int64_t tiles = (job.count + kTile - 1) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t start = tile * kTile + threadIdx.x * kVector;
    if ((tile + 1) * kTile <= job.count && job.codes.is_aligned && job.is_aligned) {
      decode_tile<Decoder, kSource>(job, decoder, start, one.scale);
    } else {
      decode_pieces<Decoder, kSource>(job, decoder, start, one.scale);
    }
  }
}

template <class Decoder>
void launch(const DecodeJob& job, const Place& place) {
  // A larger table is worth keeping.
  const bool keeps = Decoder::kUsesTable && job.codes.bits > 4;
  const unsigned blocks =
      blocks_for((job.count + kTile - 1) / kTile, place, keeps ? kKeptBlocks : kAllBlocks);
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
    case DecodeWay::posits:
      return launch<PositDecoder>(job, place);
    default:
      return launch<TableDecoder>(job, place);
  }
}

}  // namespace nibble::cuda
