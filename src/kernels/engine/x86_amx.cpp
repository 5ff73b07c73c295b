// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AMX: matrices of pixels by panels of weights. What has no matrix runs on
// VNNI.
#include <immintrin.h>

#include "kernels/engine/x86_avx512vnni.h"
#include "kernels/engine/x86_tile_matrix.h"
#include "kernels/integer_paths.h"
#include "kernels/products/tile_shape.h"

namespace nibble::inline kernels::amx {
namespace {

// Setting shapes is slow, and others in this thread may set theirs: the processor says what they
// are. Volatile instructions keep their order; what a store writes, others may read.
struct AmxTiles {
  // Rows of sums and values, and of weights.
  static void shape(int pixels, int depth) {
    TileShapes wanted;
    for (int tile = 0; tile < 6; ++tile) wanted.set(tile, pixels, 64);
    for (int tile = 6; tile < 8; ++tile) wanted.set(tile, depth, 64);
    TileShapes current;
    current.store();
    const __mmask8 differs =
        _mm512_cmpneq_epi64_mask(_mm512_load_si512(&current), _mm512_load_si512(&wanted));
    if (differs != 0) wanted.load();
    __asm__ volatile("" : : : "memory");
  }

  template <int Tile>
  static void load(const void* from, std::int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(Tile));
  }
  template <int Tile>
  static void store(void* to, std::int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(stride), "i"(Tile)
                     : "memory");
  }
  // Of u8 values and s8 weights.
  template <int Sums, int Values, int Weights>
  static void add_products() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                     :
                     : "i"(Sums), "i"(Values), "i"(Weights));
  }
};

void multiply_matrix(const FilterMatrix& matrix, const FilterTile& panel,
                     const RescaleTile& rescale) {
  TileMatrix<AmxTiles>(matrix, panel, rescale).multiply();
}

void copy_rows(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
               std::int64_t to_stride, std::int64_t count, std::int64_t bytes) {
  const std::int64_t whole = bytes / 64 * 64;
  const __mmask64 rest = first_bytes(bytes - whole);
  for (std::int64_t r = 0; r < count; ++r, from += from_stride, to += to_stride) {
    for (std::int64_t i = 0; i < whole; i += 64)
      _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    if (rest != 0)
      _mm512_mask_storeu_epi8(to + whole, rest, _mm512_maskz_loadu_epi8(rest, from + whole));
  }
}

}  // namespace

constinit const EngineKernels kEngineKernels = {
    .multiply = avx512vnni::multiply,
    .rescale = avx512vnni::rescale,
    .multiply_rescale = avx512vnni::multiply_rescale,
    .multiply_matrix = multiply_matrix,
    .copy_rows = copy_rows,
    .depthwise = avx512vnni::depthwise,
    .depthwise_rescale = avx512vnni::depthwise_rescale,
    .expand_s4 = avx512vnni::expand_s4,
    .expand_u4 = avx512vnni::expand_u4,
    .largest_u8 = avx512vnni::largest_u8,
    .largest_u4 = avx512vnni::largest_u4,
    .add_u8 = avx512vnni::add_u8,
    .add_terms = avx512vnni::add_terms,
    .pixels = {0, avx512vnni::kPixels[1], avx512vnni::kPixels[2], avx512vnni::kPixels[3],
               avx512vnni::kPixels[4]}};

}  // namespace nibble::inline kernels::amx
