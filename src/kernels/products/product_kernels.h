// SPDX-License-Identifier: Apache-2.0
// The product of int8 matrices under every integer layer: a tile of 16 rows, summed over terms,
// exact in int32, and the rounding of such a tile back to int8.
#pragma once

#include <cstdint>
#include <span>

namespace nibble::inline kernels {

// All int8 values lie in [-127, 127]. Sums may leave int32 on the way (they wrap), not at the end.
struct ProductTerm {
  const std::int8_t* a = nullptr;  // row r begins at a + r·a_stride
  const std::int8_t* b = nullptr;  // (k, j) is at b[(k / 4)·b_stride + j·4 + k % 4], xor b_flip
  const std::int32_t* a_sums =
      nullptr;  // of the 16 rows, by ProductKernels::sums; read where needed
};

struct ProductTile {
  std::int64_t depth = 0;     // a multiple of 4, at least 4
  std::int64_t a_stride = 0;  // in bytes
  std::int64_t b_stride = 0;  // in bytes
  int column_blocks = 0;      // 1 to 4 blocks of 16 columns
  std::int32_t* c = nullptr;  // row r begins at c + r·c_stride
  std::int64_t c_stride = 0;  // in values
  bool accumulates = false;   // c += instead of c =
};

inline constexpr int kProductRows = 16;
inline constexpr int kProductColumns = 16;  // of a block
inline constexpr int kProductBlocks = 4;    // at most in a tile

// A tile of sums, and where it goes as int8.
struct TileRounding {
  const std::int32_t* c = nullptr;
  std::int64_t c_stride = 0;  // in values
  int rows = 0;
  int columns = 0;
  int shift = 0;  // 0 to 31
  std::int8_t* out = nullptr;
  std::int64_t out_stride = 0;
};

struct TileOutcome {
  std::uint32_t max_magnitude = 0;  // of c
  std::int64_t saturated = 0;       // rounded values beyond ±127
};

// The functions of one path; whoever loops over tiles fetches them once.
struct ProductKernels {
  // c[r][j] (+)= Σ_t Σ_k a_t[r][k] · b_t[k][j] for r < 16, j < 16·column_blocks, k < depth.
  void (*multiply)(std::span<const ProductTerm> terms, const ProductTile& tile);

  // sums[r] = 128 · Σ_k a[r][k]. Null where the path reads no a_sums.
  void (*sums)(const std::int8_t* a, std::int64_t rows, std::int64_t depth, std::int64_t stride,
               std::int32_t* sums);

  // out = clamp(c / 2^shift, -127, 127), to the nearest, halves away from zero.
  TileOutcome (*requantize)(const TileRounding& tile);

  std::uint8_t b_flip;  // every byte of b is stored xored with this

  bool needs_sums() const { return sums != nullptr; }
};

// The path of active_isa().
const ProductKernels& product_kernels();

}  // namespace nibble::inline kernels
