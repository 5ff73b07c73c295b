// SPDX-License-Identifier: Apache-2.0
// Ends 16 sums of a row, whoever has added them up.
#pragma once

#include "backend/cuda/chunks.cuh"
#include "backend/cuda/sum_finish.h"
#include "laws/rescale.h"

namespace nibble::cuda {

// 16 numbers, one a channel.
struct ChunkNumbers {
  std::int32_t at[kChunk];
};

__device__ __forceinline__ ChunkNumbers load_numbers(const std::int32_t* from) {
  ChunkNumbers numbers;
#pragma unroll
  for (int i = 0; i < kChunk; i += 4) {
    const int4 four = __ldg(reinterpret_cast<const int4*>(from + i));
    numbers.at[i] = four.x;
    numbers.at[i + 1] = four.y;
    numbers.at[i + 2] = four.z;
    numbers.at[i + 3] = four.w;
  }
  return numbers;
}

template <class Number>
__device__ __forceinline__ std::int32_t clamped(Number y, std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>(y < low ? low : (y > high ? high : y));
}

// R(p, s) in as many bits as are proven enough.
__device__ __forceinline__ std::int32_t shifted(std::int32_t p, int s) {
  return s == 0 ? p : rounded_shift_of_small(p, s);
}
__device__ __forceinline__ std::int64_t shifted(std::int64_t p, int s) {
  return rounded_shift(p, s);
}

// Number is what products fit in; sum_at(i) has the bias.
template <class Number, class SumAt>
__device__ __forceinline__ ChunkNumbers finished_as(const SumFinish& law, std::uint32_t row,
                                                    std::uint32_t image, std::uint32_t column,
                                                    const SumAt& sum_at) {
  const bool has_addend = law.addend != nullptr;
  ChunkBytes added{};
  ChunkNumbers factors{};
  if (has_addend) {
    const std::size_t at = std::size_t{row + image * law.addend_borders} * law.pitch + column;
    added.words = load_chunk(law.addend, at);
    factors = load_numbers(law.addend_multiplier + column);
  }
  const ChunkNumbers multipliers = load_numbers(law.multiplier + column);
  ChunkNumbers results;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    Number sum = static_cast<Number>(sum_at(i));
    if (has_addend)
      sum += shifted(Number{added.bytes[i] + law.addend_base} * factors.at[i], law.addend_shift);
    results.at[i] = clamped(shifted(sum * multipliers.at[i], law.shift), law.low, law.high);
  }
  return results;
}

// 16 numbers of a row as they are stored: less `base` in bytes, or as they are in 32 bits.
__device__ __forceinline__ void store_numbers(void* data, std::size_t at, const ChunkNumbers& from,
                                              std::int32_t base, bool has_words) {
  if (has_words) {
    auto* to = reinterpret_cast<int4*>(static_cast<std::int32_t*>(data) + at);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i] = make_int4(from.at[4 * i], from.at[4 * i + 1], from.at[4 * i + 2], from.at[4 * i + 3]);
    return;
  }
  ChunkBytes bytes;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) bytes.bytes[i] = static_cast<std::int8_t>(from.at[i] - base);
  store_chunk(data, at, bytes.words);
}

__device__ __forceinline__ void store_finished(const SumFinish& law, std::uint32_t row,
                                               std::uint32_t image, std::uint32_t column,
                                               const ChunkNumbers& results) {
  const std::size_t at = std::size_t{row + image * law.out_borders} * law.pitch + column;
  store_numbers(law.out, at, results, law.out_base, law.has_words != 0);
}

// Sums column to column + 15 of a row.
__device__ __forceinline__ void end_chunk(const SumFinish& law, std::uint32_t row,
                                          std::uint32_t column, const std::int32_t* sums) {
  const std::uint32_t image = law.pixels.quotient(row);
  const ChunkNumbers bias = load_numbers(law.bias + column);
  const auto sum_at = [&](int i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                     static_cast<std::uint32_t>(bias.at[i]));
  };
  const ChunkNumbers results = law.is_wide != 0
                                   ? finished_as<std::int64_t>(law, row, image, column, sum_at)
                                   : finished_as<std::int32_t>(law, row, image, column, sum_at);
  store_finished(law, row, image, column, results);
}

// The same of 64-bit sums that need no bias.
__device__ __forceinline__ void end_wide_chunk(const SumFinish& law, std::uint32_t row,
                                               std::uint32_t column, const std::int64_t* sums) {
  const std::uint32_t image = law.pixels.quotient(row);
  store_finished(
      law, row, image, column,
      finished_as<std::int64_t>(law, row, image, column, [&](int i) { return sums[i]; }));
}

}  // namespace nibble::cuda
