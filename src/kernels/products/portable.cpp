// SPDX-License-Identifier: Apache-2.0
// The int8 product for machines without AVX2, as loops that compilers make vectors of.
#include <bit>
#include <cstring>

#include "kernels/integer_paths.h"
#include "kernels/products/requantize_loop.h"

namespace nibble::inline kernels::portable {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are taken from words");

struct Path {};

using Sums = std::uint32_t[kProductRows][kProductColumns];  // unsigned, so that they may wrap

// Four values of each column, taken apart once for the sixteen rows.
struct Quads {
  std::int16_t part[4][kProductColumns];

  explicit Quads(const std::int8_t* b) {
    for (int j = 0; j < kProductColumns; ++j) {
      for (int i = 0; i < 4; ++i) part[i][j] = b[4 * j + i];
    }
  }
};

// 2·127·127 fits 16 bits: two products are added before they are widened. The values of a row are
// copied first: g++ 12 at -O3 would load those of the three rows behind it too, and of the last row
// what is not there.
void add_quads(const std::int8_t* a, std::int64_t stride, const Quads& b, Sums& sums) {
  for (int r = 0; r < kProductRows; ++r, a += stride) {
    std::uint32_t four;
    std::memcpy(&four, a, sizeof four);
    std::int16_t x[4];
    for (int i = 0; i < 4; ++i) x[i] = static_cast<std::int8_t>(four >> (8 * i));
    for (int j = 0; j < kProductColumns; ++j) {
      const auto low = static_cast<std::int16_t>(x[0] * b.part[0][j] + x[1] * b.part[1][j]);
      const auto high = static_cast<std::int16_t>(x[2] * b.part[2][j] + x[3] * b.part[3][j]);
      sums[r][j] += static_cast<std::uint32_t>(low + high);
    }
  }
}

void multiply_block(std::span<const ProductTerm> terms, const ProductTile& tile,
                    std::int64_t block) {
  Sums sums = {};
  for (const ProductTerm& term : terms) {
    const std::int8_t* b = term.b + block * kProductColumns * 4;
    for (std::int64_t k = 0; k < tile.depth; k += 4, b += tile.b_stride) {
      add_quads(term.a + k, tile.a_stride, Quads(b), sums);
    }
  }
  for (std::int64_t r = 0; r < kProductRows; ++r) {
    std::int32_t* c = tile.c + r * tile.c_stride + block * kProductColumns;
    for (int j = 0; j < kProductColumns; ++j) {
      const std::uint32_t before = tile.accumulates ? static_cast<std::uint32_t>(c[j]) : 0;
      c[j] = static_cast<std::int32_t>(before + sums[r][j]);
    }
  }
}

void multiply(std::span<const ProductTerm> terms, const ProductTile& tile) {
  for (int block = 0; block < tile.column_blocks; ++block) multiply_block(terms, tile, block);
}

}  // namespace

constinit const ProductKernels kProductKernels = {
    .multiply = multiply, .sums = nullptr, .requantize = requantize_rows<Path>, .b_flip = 0};

}  // namespace nibble::inline kernels::portable
