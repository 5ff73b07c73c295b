// SPDX-License-Identifier: Apache-2.0
// Codes of at most 16 bits to values, under no scale, one, or one a block.
#include "cuda/errors.h"
#include "kernels/quantize/cuda/codes.cuh"
#include "kernels/quantize/cuda/decoders.cuh"
#include "kernels/quantize/cuda/launch.h"
#include "kernels/quantize/cuda/scale.cuh"
#include "numerics/round_scaled.h"

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
// Each code at the top of its field.
__device__ __forceinline__ std::uint32_t topped_fields(const DecodeJob& job, std::uint32_t word) {
  return word << job.decoding.top_shift & job.decoding.tops;
}

// Of a code of more than 8 bits; NaN as decode gives it.
static __device__ __noinline__ float defined_value(const DecodeJob& job, std::uint32_t code) {
  const double value = job.element.family == ElementFamily::posit
                           ? value_of_code(job.element.posit, code)
                           : value_of_code(job.element.floating, code);
  return value == value ? static_cast<float>(value) : Lane::floats(0x7FC00000U);
}

template <class Decoder, bool kScales>
__device__ __forceinline__ void decode_four(const DecodeJob& job, const Decoder& decoder,
                                            const FieldWords<Decoder::kBits>& codes, float scale,
                                            float (&result)[kVector]) {
  using Codes = FieldWords<Decoder::kBits>;
  bool has_special = false;
#pragma unroll
  for (int w = 0; w < Codes::kWords; ++w) {
    has_special = has_special || decoder.has_special(codes.words[w]);
  }
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    result[e] = decoder.value(codes.words[e / Codes::kPerWord], e % Codes::kPerWord);
    if constexpr (kScales) result[e] *= scale;
  }
  if (!has_special) return;
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    const std::uint32_t code = codes.field(e) >> job.decoding.top_shift;
    float element;
    if constexpr (Decoder::kUsesTable) {
      element = decoder.value(codes.words[0], e);
    } else if constexpr (Decoder::kBits == 8) {
      element = job.values[code];
    } else {
      element = defined_value(job, code);
    }
    // A NaN keeps its bits.
    result[e] = kScales && element == element ? element * scale : element;
  }
}

// Vector v of a thread, whose first element is `start`; all are whole and aligned.
template <int kBits>
__device__ __forceinline__ FieldWords<kBits> load_words(const DecodeJob& job, std::int64_t start,
                                                        int v) {
  constexpr int kStep = kStride / kVector;
  FieldWords<kBits> codes;
  if constexpr (kBits == 16) {
    const auto* from = static_cast<const std::uint16_t*>(job.codes.codes) + start;
    const uint2 pair = reinterpret_cast<const uint2*>(from)[v * kStep];
    codes.words[0] = pair.x, codes.words[1] = pair.y;
  } else {
    const auto* bytes = static_cast<const std::uint8_t*>(job.codes.codes);
    codes.words[0] = job.codes.packs_nibbles
                         ? reinterpret_cast<const std::uint16_t*>(bytes + start / 2)[v * kStep]
                         : reinterpret_cast<const std::uint32_t*>(bytes + start)[v * kStep];
  }
  return codes;
}

// A tile whose vectors are all whole and aligned.
template <class Decoder, ScaleSource kSource>
__device__ __forceinline__ void decode_tile(const DecodeJob& job, const Decoder& decoder,
                                            std::int64_t start, float scale) {
  FieldWords<Decoder::kBits> codes[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) codes[v] = load_words<Decoder::kBits>(job, start, v);
  float scales[kVectors];
  if constexpr (kSource == ScaleSource::blocks) {
    const float* from = job.scales.scales + (start >> job.scales.block_bits);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) scales[v] = from[v * (kStride >> job.scales.block_bits)];
  }
  auto* to = static_cast<float*>(job.output) + start;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (std::uint32_t& word : codes[v].words) {
      word = Decoder::kBits == 8 && job.codes.packs_nibbles ? topped_nibbles(word)
                                                            : topped_fields(job, word);
    }
    float r[kVector];
    decode_four<Decoder, kSource != ScaleSource::none>(
        job, decoder, codes[v], kSource == ScaleSource::blocks ? scales[v] * scale : scale, r);
    store_16_bytes(to + v * kStride, make_uint4(Lane::bits(r[0]), Lane::bits(r[1]),
                                                Lane::bits(r[2]), Lane::bits(r[3])));
  }
}

// Any other.
template <class Decoder, ScaleSource kSource>
__device__ __forceinline__ void decode_pieces(const DecodeJob& job, const Decoder& decoder,
                                              std::int64_t start, float scale) {
  using Codes = FieldWords<Decoder::kBits>;
#pragma unroll 1
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t first = start + v * kStride;
    if (first >= job.count) return;
    std::uint32_t each[kVector];
    load_codes(job.codes, first, job.count, false, each);
    Codes codes = {};
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      codes.words[e / Codes::kPerWord] |= each[e] << Decoder::kBits * (e % Codes::kPerWord);
    }
#pragma unroll
    for (std::uint32_t& word : codes.words) word = topped_fields(job, word);
    float own = scale;
    if (kSource == ScaleSource::blocks) own *= job.scales.scales[first >> job.scales.block_bits];
    float result[kVector];
    decode_four<Decoder, kSource != ScaleSource::none>(job, decoder, codes, own, result);
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

template <template <int> class Decoder>
void launch_width(const DecodeJob& job, const Place& place) {
  job.codes.bits <= 8 ? launch<Decoder<8>>(job, place) : launch<Decoder<16>>(job, place);
}

}  // namespace

void decode_vectors(const DecodeJob& job, const Place& place) {
  switch (job.decoding.way) {
    case DecodeWay::floats:
      return launch_width<FloatDecoder>(job, place);
    case DecodeWay::grids:
      return launch_width<GridDecoder>(job, place);
    case DecodeWay::posits:
      return launch_width<PositDecoder>(job, place);
    default:
      return launch<TableDecoder>(job, place);
  }
}

}  // namespace nibble::cuda
