// SPDX-License-Identifier: Apache-2.0
// What paths that build on AVX-512 VNNI take from it as it is.
#pragma once

#include "kernels/engine/engine_kernels.h"

namespace nibble::inline kernels::avx512vnni {

void multiply(const FilterTile& tile);
void rescale(const RescaleTile& tile);
void multiply_rescale(const FilterTile& tile, const RescaleTile& rescale,
                      std::span<const FilterPiece> pieces);
void depthwise(const DepthwiseTile& tile);
void depthwise_rescale(const DepthwiseTile& tile, const RescaleTile& rescale,
                       const DepthwiseLines& lines);
void expand_s4(const std::uint8_t* from, std::int8_t* to, std::int64_t groups);
void expand_u4(const std::uint8_t* from, std::uint8_t* to, std::int64_t groups);
void largest_u8(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes);
void largest_u4(const std::uint8_t* const* rows, int count, std::uint8_t* to, std::int64_t bytes);
void add_u8(const std::uint8_t* const* rows, int count, std::int32_t* to, std::int64_t bytes);
void add_terms(const ByteTerm& first, const ByteTerm& second, std::int32_t* to, std::int64_t count);

inline constexpr int kPixels[kFilterBlocks + 1] = {0, 12, 12, 8, 6};

}  // namespace nibble::inline kernels::avx512vnni
