// SPDX-License-Identifier: Apache-2.0
// Sums over the meetings of every pixel: convolution and linear layers, forward and for errors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/packed_weights.h"
#include "backend/cpu/rounding_point.h"
#include "backend/cpu/tap_map.h"
#include "laws/integer_laws.h"

namespace nibble::inline backend {

// result[p][i][c] = round(2^lift·(Σ_(s,t) Σ_k source[s][i][k]·weights[t][k][c]) + addend[c]), over
// the meetings (s, t) of pixel p.
struct GatherProduct {
  const TapMap& meetings;
  const PackedWeights& weights;
  const BlockTensor& source;
  const BlockTensor& result;                  // without its exponent
  std::int64_t first_image;                   // of the source among those of all ranks
  std::span<const std::int64_t> addend = {};  // one a column; empty: none
  std::int64_t first_column = 0;              // of the result, with groups; columns count from it
  int lift = 0;
  std::int64_t safe_terms = kSafeTerms;  // smaller in tests
  BufferPool* pool = nullptr;            // of what is needed on the way; null: its own

  // Wider sums where 32 bits cannot be proven enough: more terms, or an addend that is too large.
  bool is_wide() const;

  SumsOutcome run(const RoundingJob& job) const;
};

// Rounds a tile of sums, [row][column], into the images of one pixel: what all layers share.
struct TilePlace {
  const BlockTensor& result;
  std::int64_t group;
  std::int64_t pixel;
  std::int64_t column;   // of the tile's first
  std::int64_t columns;  // those that are there
  std::int64_t first_image;

  // Of row r's first number, in the batch of all ranks.
  std::uint64_t element(std::int64_t r) const {
    const std::int64_t image = first_image + group * kGroup + r;
    return static_cast<std::uint64_t>(
        (image * result.picture.pixels() + pixel) * result.picture.channels + column);
  }
};
SumsOutcome round_tile(const RoundingJob& job, const std::int32_t* sums, std::int64_t stride,
                       const TilePlace& place);
SumsOutcome round_tile(const RoundingJob& job, const std::int64_t* sums, std::int64_t stride,
                       const TilePlace& place);

}  // namespace nibble::inline backend
