// SPDX-License-Identifier: Apache-2.0
// The engine's kernel on AVX-512 VNNI: 24 sums of 16 outputs stay in registers over all taps, each
// pixel's four values go to all 16 lanes.
#include <immintrin.h>

#include <algorithm>

#include "kernels/engine/x86_avx512_depthwise.h"
#include "kernels/engine/x86_avx512_rescale.h"
#include "kernels/engine/x86_avx512_terms.h"
#include "kernels/engine/x86_avx512vnni.h"
#include "kernels/engine/x86_avx512vnni_pairs.h"
#include "kernels/integer_paths.h"

namespace nibble::inline kernels::avx512vnni {
namespace {

struct Path {};

// What is needed after these tiles comes near while they are multiplied, a line with each step of
// four channels: the processor by itself stops fetching at the end of every page.
class Ahead {
 public:
  explicit Ahead(const FilterTile& tile)
      : line_(reinterpret_cast<const std::uint8_t*>(tile.weights)), last_(line_) {
    if (tile.ahead.empty()) return;
    line_ = tile.ahead.data();
    last_ = line_ + tile.ahead.size() - kLine;
    step_ = kLine;
  }

  void fetch() {
    _mm_prefetch(line_, _MM_HINT_T1);
    line_ += step_;
  }
  void end_tile() {
    line_ = std::min(line_, last_);
    if (line_ == last_) step_ = 0;
  }

 private:
  static constexpr std::int64_t kLine = 64;
  const std::uint8_t* line_;
  const std::uint8_t* last_;
  std::int64_t step_ = 0;
};

// For tiles of fewer than 64 outputs, whose weights are few.
struct NothingAhead {
  void fetch() {}
  void end_tile() {}
};

// When all is summed, finish() gives what takes a pixel's sums from the registers, or the largest
// of a window's; it is asked for no earlier, since its constants would need registers too.
template <int Pixels, int Blocks, int Window = 1, class Fetched, class Finish>
void multiply_part(const FilterTile& tile, Fetched& ahead, const Finish& finish) {
  __m512i sums[Pixels][Blocks];
#pragma GCC unroll 14
  for (int p = 0; p < Pixels; ++p) {
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) sums[p][b] = _mm512_loadu_si512(tile.bias + b * 16);
  }
  const std::int8_t* weights = tile.weights;
  const std::uint8_t* const* rows = tile.rows;
  const std::int64_t depth = tile.depth;
  Fetched near = ahead;
  for (std::int64_t t = 0; t < tile.taps; ++t, rows += Pixels) {
    const std::uint8_t* row[Pixels];
#pragma GCC unroll 14
    for (int p = 0; p < Pixels; ++p) row[p] = rows[p];
    for (std::int64_t k = 0; k < depth; k += 4, weights += Blocks * 64) {
      near.fetch();
      __m512i columns[Blocks];
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) columns[b] = _mm512_loadu_si512(weights + b * 64);
#pragma GCC unroll 14
      for (int p = 0; p < Pixels; ++p) {
        const __m512i quad = quad_of(row[p] + k);
#pragma GCC unroll 4
        for (int b = 0; b < Blocks; ++b) {
          sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], quad, columns[b]);
        }
      }
    }
  }
  near.end_tile();
  ahead = near;
  __asm__ volatile("" : : : "memory");
  const auto take = finish();
#pragma GCC unroll 14
  for (int p = 0; p < Pixels / Window; ++p) {
    __m512i of_pixel[Blocks];  // a copy, so that the sums themselves have no address
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      of_pixel[b] = sums[p * Window][b];
      __asm__ volatile("" : "+v"(of_pixel[b]));
#pragma GCC unroll 4
      for (int w = 1; w < Window; ++w) {
        __m512i other = sums[p * Window + w][b];
        __asm__ volatile("" : "+v"(other));
        of_pixel[b] = _mm512_max_epi32(of_pixel[b], other);
      }
    }
    take(p, of_pixel);
  }
}

template <int Blocks, int Pixels, class Fetched, class Finish>
void multiply_pixels(const FilterTile& tile, Fetched& ahead, const Finish& finish) {
  if (tile.pixels == Pixels) return multiply_part<Pixels, Blocks>(tile, ahead, finish);
  if constexpr (Pixels > 1) multiply_pixels<Blocks, Pixels - 1>(tile, ahead, finish);
}

template <int Blocks>
void multiply_blocks(const FilterTile& tile) {
  NothingAhead ahead;
  multiply_pixels<Blocks, kPixels[Blocks]>(tile, ahead, [&] {
    return [&](int p, const __m512i* sums) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int b = 0; b < Blocks; ++b) {
        _mm512_storeu_si512(tile.sums + p * kFilterColumns + b * 16, sums[b]);
      }
    };
  });
}

}  // namespace

void multiply(const FilterTile& tile) {
  switch (tile.blocks) {
    case 1:
      return multiply_blocks<1>(tile);
    case 2:
      return multiply_blocks<2>(tile);
    case 3:
      return multiply_blocks<3>(tile);
    default:
      return multiply_blocks<4>(tile);
  }
}

void expand_s4(const std::uint8_t* from, std::int8_t* to, std::int64_t groups) {
  const __m512i half = _mm512_set1_epi8(15);
  const __m512i values =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  for (std::int64_t g = 0; g < groups; ++g, from += 64, to += 128) {
    const __m512i both = _mm512_loadu_si512(from);
    const __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), half);
    _mm512_storeu_si512(to, _mm512_shuffle_epi8(values, _mm512_and_si512(both, half)));
    _mm512_storeu_si512(to + 64, _mm512_shuffle_epi8(values, high));
  }
}

void expand_u4(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups) {
  const __m256i half = _mm256_set1_epi8(15);
  for (std::int64_t g = 0; g < groups; ++g, from += 32, to += 64) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), half);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_and_si256(both, half));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
}

void largest_u8(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) {
    const __mmask64 mask = first_bytes(bytes - i);
    __m512i most = _mm512_maskz_loadu_epi8(mask, rows[0] + i);
    for (int r = 1; r < count; ++r) {
      most = _mm512_max_epu8(most, _mm512_maskz_loadu_epi8(mask, rows[r] + i));
    }
    _mm512_mask_storeu_epi8(to + i, mask, most);
  }
}

// The largest byte has the largest high half.
void largest_u4(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes) {
  const __m512i half = _mm512_set1_epi8(15);
  for (std::int64_t i = 0; i < bytes; i += 64) {
    const __mmask64 mask = first_bytes(bytes - i);
    __m512i high = _mm512_maskz_loadu_epi8(mask, rows[0] + i);
    __m512i low = _mm512_and_si512(high, half);
    for (int r = 1; r < count; ++r) {
      const __m512i both = _mm512_maskz_loadu_epi8(mask, rows[r] + i);
      high = _mm512_max_epu8(high, both);
      low = _mm512_max_epu8(low, _mm512_and_si512(both, half));
    }
    _mm512_mask_storeu_epi8(to + i, mask, _mm512_or_si512(_mm512_andnot_si512(half, high), low));
  }
}

void add_u8(const std::uint8_t* const* rows, int count, std::int32_t* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 16) {
    const __mmask16 mask = first_lanes(bytes - i);
    __m512i sum = _mm512_maskz_loadu_epi32(mask, to + i);
    for (int r = 0; r < count; ++r) {
      sum = _mm512_add_epi32(sum, _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, rows[r] + i)));
    }
    _mm512_mask_storeu_epi32(to + i, mask, sum);
  }
}

void add_terms(const ByteTerm& first, const ByteTerm& second, std::int32_t* to,
               std::int64_t count) {
  avx512_add_terms<Path>(first, second, to, count);
}

void rescale(const RescaleTile& tile) {
  avx512_rescale<Path>(tile);
}

void depthwise(const DepthwiseTile& tile) {
  avx512_depthwise<Path>(tile);
}

void depthwise_rescale(const DepthwiseTile& tile, const RescaleTile& rescale,
                       const DepthwiseLines& lines) {
  avx512_depthwise_rescale<Path>(tile, rescale, lines);
}

namespace {

// A pixel's sums go to its place without leaving the registers. The law's constants stay in memory
// until then; beside 12 rows of one block no register is left for their address, and they are made
// again.
template <int Blocks, class Law>
auto finish(const Law& law, const RescaleTile& rescale) {
  const auto take_by =
      [](const Law& by, int p, const __m512i* sums) __attribute__((always_inline)) {
    by.template pixel<Blocks>(
        p, [&](int b) __attribute__((always_inline)) { return sums[b]; });
  };
  if constexpr (Blocks == 1) {
    return [&rescale, take_by] {
      return [ own = Law(rescale), take_by ](int p, const __m512i* sums)
          __attribute__((always_inline)) {
        take_by(own, p, sums);
      };
    };
  } else {
    __asm__ volatile("" : : "r"(&law) : "memory");
    return [&law, take_by] {
      return [&law, take_by ](int p, const __m512i* sums) __attribute__((always_inline)) {
        take_by(law, p, sums);
      };
    };
  }
}

void multiply_then_rescale(const FilterTile& tile, RescaleTile& rescale) {
  multiply(tile);
  rescale.pixels = tile.pixels / rescale.window;
  kernels::avx512vnni::rescale(rescale);
}

// Whole tiles, and those that panels of 64 outputs beside this one have, at once or by pairs; the
// others in two steps.
template <int Blocks, int Pixels, int Window>
void multiply_rescale_plain(const FilterTile& tile, const RescaleTile& rescale,
                            std::span<const FilterPiece> pieces) {
  RescaleTile next = rescale;
  NothingAhead ahead;
  with_plain_rescale(rescale, [&]<class Law>() {
    const Law law(next);
    const auto single = [&](const FilterPiece& piece) {
      const FilterTile part = piece.of(tile);
      const auto is_done = [&]<int Size>() {
        if (piece.pixels != Size) return false;
        multiply_part<Size, Blocks, Window>(part, ahead, finish<Blocks>(law, next));
        return true;
      };
      bool is_at_once = is_done.template operator()<Pixels>();
      if constexpr (Window == 1 && Pixels > kPixels[kFilterBlocks])
        is_at_once = is_at_once || is_done.template operator()<kPixels[kFilterBlocks]>();
      if (!is_at_once) multiply_then_rescale(part, next);
    };
    if constexpr (Blocks == 2 && Window == 1) {
      multiply_rescale_pieces<1>(tile, ahead, law, next, pieces, single);
    } else {
      for (const FilterPiece& piece : pieces) {
        single(piece);
        advance(next, piece.pixels / Window);
      }
    }
  });
}

template <int Blocks>
void multiply_rescale_blocks(const FilterTile& tile, const RescaleTile& rescale,
                             std::span<const FilterPiece> pieces) {
  if (rescale.window == 4)
    return multiply_rescale_plain<Blocks, kPixels[Blocks] / 4 * 4, 4>(tile, rescale, pieces);
  return multiply_rescale_plain<Blocks, kPixels[Blocks], 1>(tile, rescale, pieces);
}

// Tiles of 64 outputs. Those without pairs are rescaled when all is summed.
template <class Law>
void multiply_rescale_whole(const FilterTile& tile, RescaleTile next,
                            std::span<const FilterPiece> pieces) {
  Ahead ahead(tile);
  const Law law(next);
  const auto single = [&](const FilterPiece& piece) {
    multiply_pixels<kFilterBlocks, kPixels[kFilterBlocks]>(piece.of(tile), ahead,
                                                           finish<kFilterBlocks>(law, next));
  };
  if (next.columns == kFilterColumns)
    return multiply_rescale_pieces<2>(tile, ahead, law, next, pieces, single);
  for (const FilterPiece& piece : pieces) {
    single(piece);
    advance(next, piece.pixels);
  }
}

}  // namespace

void multiply_rescale(const FilterTile& tile, const RescaleTile& given,
                      std::span<const FilterPiece> pieces) {
  RescaleTile rescale = given;
  // Many products hide what 32 bits need, and their loop has more registers then.
  constexpr std::int64_t kFewTaps = 256;
  if (rescale.addend.storage == FilterStorage::none)
    rescale.is_small &= rescale.is_wide || tile.taps * tile.depth <= kFewTaps;
  const int blocks = tile.blocks;
  const bool is_whole = blocks == kFilterBlocks && rescale.window == 1;
  if (is_plain(rescale) && (rescale.window == 4 || (rescale.window == 1 && !is_whole))) {
    if (blocks == 1) return multiply_rescale_blocks<1>(tile, rescale, pieces);
    if (blocks == 2) return multiply_rescale_blocks<2>(tile, rescale, pieces);
    if (blocks == 3) return multiply_rescale_blocks<3>(tile, rescale, pieces);
    return multiply_rescale_blocks<4>(tile, rescale, pieces);
  }
  RescaleTile next = rescale;
  if (!is_whole || width_of(rescale) == RescaleWidth::wide ||
      rescale.storage == FilterStorage::s32) {
    for (const FilterPiece& piece : pieces) {
      multiply_then_rescale(piece.of(tile), next);
      advance(next, piece.pixels / rescale.window);
    }
    return;
  }
  with_avx512_rescale(rescale, [&]<class Law>() {
    if constexpr (Law::kIsLight) multiply_rescale_whole<Law>(tile, rescale, pieces);
  });
}

constinit const EngineKernels kEngineKernels = {
    .multiply = multiply,
    .rescale = rescale,
    .multiply_rescale = multiply_rescale,
    .depthwise = depthwise,
    .depthwise_rescale = depthwise_rescale,
    .expand_s4 = expand_s4,
    .expand_u4 = expand_u4,
    .largest_u8 = largest_u8,
    .largest_u4 = largest_u4,
    .add_u8 = add_u8,
    .add_terms = add_terms,
    .pixels = {0, kPixels[1], kPixels[2], kPixels[3], kPixels[4]}};

}  // namespace nibble::inline kernels::avx512vnni
