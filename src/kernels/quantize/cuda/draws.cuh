// SPDX-License-Identifier: Apache-2.0
// The draws of a thread's vectors: as many of one Philox counter as it has.
#pragma once

#include <type_traits>

#include "core/philox_draws.h"
#include "kernels/quantize/cuda/round.h"
#include "kernels/quantize/cuda/values.cuh"

namespace nibble::cuda {

struct DrawSource {
  RandomKey key;
  int random_bits;
};

__device__ __forceinline__ std::uint32_t draw_one(const DrawSource& source, std::int64_t element) {
  const auto i = static_cast<std::uint64_t>(element);
  return source.random_bits > 16
             ? philox::draw32(source.key, i) >> (32 - source.random_bits)
             : std::uint32_t{philox::draw16(source.key, i)} >> (16 - source.random_bits);
}

__device__ __forceinline__ void philox_words(const PhiloxKeys& keys, std::int64_t counter,
                                             std::uint32_t (&words)[4]) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
  const std::uint64_t first = Lane::multiply_low(static_cast<std::uint32_t>(counter), kMultiplier0);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter >> 32) ^ keys.start[0];
  std::uint32_t c1 = keys.start[1];
  std::uint32_t c2 = static_cast<std::uint32_t>(first >> 32) ^ keys.start[2];
  auto c3 = static_cast<std::uint32_t>(first);
#pragma unroll
  for (int round = 0; round < 9; ++round) {
    const std::uint64_t p0 = Lane::multiply_low(c0, kMultiplier0);
    const std::uint64_t p1 = Lane::multiply_low(c2, kMultiplier1);
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ keys.rounds[round][0];
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ keys.rounds[round][1];
    c3 = static_cast<std::uint32_t>(p0);
  }
  words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

// Of more than 16 bits: u·2^(32-r) and ones behind it, so that it stays below floor(f·2^32) where u
// is below floor(f·2^r). Of at most 16 (kShort): the same in 16 bits, and their complement.
//
// Two vectors, whose first elements are the same multiple of 4 lanes into multiples of 8. Of 16
// bits a counter serves two neighbouring threads: the even one computes that of the first vector,
// the odd one that of the second, and they exchange halves. All threads of a warp take part.
template <bool kShort>
__device__ __forceinline__ void aligned_draws(const RoundJob& job, std::int64_t first,
                                              std::int64_t second,
                                              std::uint32_t (&draws)[2][kVector]) {
  const int random_bits = job.plan.random_bits;
  if constexpr (!kShort) {
    philox_words(job.keys, first >> 2, draws[0]);
    philox_words(job.keys, second >> 2, draws[1]);
    const std::uint32_t ones = 0xFFFFFFFFU >> (random_bits - 1) >> 1;
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      draws[0][e] |= ones;
      draws[1][e] |= ones;
    }
  } else {
    const bool is_odd = (threadIdx.x & 1U) != 0;
    const std::uint32_t mask = (0xFFFFU << (16 - random_bits) & 0xFFFFU) * 0x10001U;
    std::uint32_t words[4];
    philox_words(job.keys, (is_odd ? second : first) >> 3, words);
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const std::uint32_t mine = is_odd ? words[2 + w] : words[w];
      const std::uint32_t others =
          __shfl_xor_sync(0xFFFFFFFFU, is_odd ? words[w] : words[2 + w], 1);
      const std::uint32_t of_first = ~(is_odd ? others : mine) & mask;
      const std::uint32_t of_second = ~(is_odd ? mine : others) & mask;
      draws[0][2 * w] = of_first & 0xFFFFU;
      draws[0][2 * w + 1] = of_first >> 16;
      draws[1][2 * w] = of_second & 0xFFFFU;
      draws[1][2 * w + 1] = of_second >> 16;
    }
  }
}

// The number that an aligned draw stands for.
template <bool kShort>
__device__ __forceinline__ std::uint32_t drawn_number(const RoundJob& job, std::uint32_t aligned) {
  return kShort ? (0xFFFFU - aligned) >> (16 - job.plan.random_bits)
                : aligned >> (32 - job.plan.random_bits);
}

__device__ __forceinline__ void draw_two_vectors(const RoundJob& job, std::int64_t first,
                                                 std::int64_t second,
                                                 std::uint32_t (&draws)[2][kVector]) {
  const auto draw = [&](auto is_short) {
    aligned_draws<is_short.value>(job, first, second, draws);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      draws[0][e] = drawn_number<is_short.value>(job, draws[0][e]);
      draws[1][e] = drawn_number<is_short.value>(job, draws[1][e]);
    }
  };
  job.plan.random_bits > 16 ? draw(std::false_type{}) : draw(std::true_type{});
}

}  // namespace nibble::cuda
