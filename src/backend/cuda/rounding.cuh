// SPDX-License-Identifier: Apache-2.0
// Guess and verify: sums are rounded by the shift of earlier batches while their maximum is found;
// the last block of that pass decides, and a second pass with the right shift returns at once where
// the guess was right.
#pragma once

#include <type_traits>

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunk_rules.cuh"
#include "backend/cuda/device_params.h"
#include "backend/cuda/shift_guess.cuh"
#include "laws/integer_laws.h"

namespace nibble::cuda {

// Of one pass, as one thread sees it. What every chunk asks for is kept in registers: nothing takes
// the address of a pass.
class RoundingPass {
 public:
  __device__ __forceinline__ explicit RoundingPass(const RoundingSite& site)
      : site_(site), second_(site.second), is_nearest_(site.rounding == ShiftRounding::nearest) {
    const DevicePoint& point = *site.point;
    is_needed_ = !site.is_repeat || point.guess != Guess::right;
    shift_ = site.is_repeat ? point.shift : first_guess(point, site.step->rule);
    other_ = site.is_repeat || site.second == nullptr ? PointState::kUnknown
                                                      : second_guess(point, shift_);
    if (site.rounding == ShiftRounding::stochastic)
      key_ = {site.step->seed, site.stream, site.step->step};
  }

  __device__ __forceinline__ bool is_needed() const { return is_needed_; }
  // The results lie in the second memory already.
  __device__ __forceinline__ bool is_done() const {
    return site_.is_repeat && site_.point->guess == Guess::second_right;
  }

  template <class Sum>
  __device__ __forceinline__ std::int8_t round(Sum sum, std::uint32_t draw) {
    see(magnitude_of<Sum>(sum));
    return kept_of(round_shift(site_.rounding, sum, shift_, draw), saturated_);
  }

  // 16 results, of which the first `count` are of the tensor, to offset `at` of the result's
  // memory, and to the second one's. The sums lie in shared memory or in registers; zeros where
  // there are none. `element` counts through the batch of all ranks, without what fills rows up.
  // What is done most often stands here, all else in functions of their own: a tile has many
  // chunks, and their instructions must stay in a cache.
  template <class Sums>
  __device__ __forceinline__ void round_chunk(const Sums& sums, std::uint64_t element,
                                              std::uint32_t count, std::int8_t* result,
                                              std::size_t at, const Gate& gate) {
    std::int32_t chunk[kChunk];
    std::int32_t highest = 0;
    std::int32_t lowest = 0;
#pragma unroll
    for (int i = 0; i < kChunk; i += 4) {
      const int4 quad = quad_of(sums, i);
      highest = __vimax3_s32(__vimax3_s32(highest, quad.x, quad.y), quad.z, quad.w);
      lowest = __vimin3_s32(__vimin3_s32(lowest, quad.x, quad.y), quad.z, quad.w);
      chunk[i] = quad.x;
      chunk[i + 1] = quad.y;
      chunk[i + 2] = quad.z;
      chunk[i + 3] = quad.w;
    }
    const auto most = static_cast<std::uint32_t>(max(highest, -lowest));
    most_ = max(most_, most);
    const bool is_small =
        is_nearest_ && (shift_ == 0 ? most <= 127 : shift_ > 0 && fits(most, shift_));
    if (is_small) *reinterpret_cast<uint4*>(result + at) = rounded_chunk(chunk, shift_, gate);
    if (is_small && other_ == PointState::kUnknown) return;
    if (site_.rounding == ShiftRounding::stochastic && element % 4 == 0 && count == kChunk &&
        most < kQuickSum && is_quick(shift_) &&
        (other_ == PointState::kUnknown || is_quick(other_)))
      return draw_chunk(chunk, most, element / 4, result + at, second_ + at, gate);
    std::int32_t kept[kChunk];  // functions read from memory
#pragma unroll
    for (int i = 0; i < kChunk; ++i) kept[i] = chunk[i];
    const std::int32_t* from = kept;
    if (!is_small) saturated_ += store_sums(site_, from, shift_, element, count, result + at, gate);
    if (other_ == PointState::kUnknown) return;
    second_saturated_ += is_nearest_ && is_quick(other_) && most < kQuickSum
                             ? store_cut(from, other_, second_ + at, gate)
                             : store_sums(site_, from, other_, element, count, second_ + at, gate);
  }

  // All chunks of a tile's thread, where all is as it is most often: sums(i) is a chunk of sums in
  // registers, place(i) its offset, gate(i) what follows; after(guess, first, chunks) of every
  // kTogether results. False: nothing is done, and chunks go one by one. Without a branch for each
  // chunk their instructions overlap. double_sums() is asked for where a shift is 0: twice the sums
  // by one bit more are the same results.
  template <int kChunks, int kTogether, class SumsAt, class DoubleSums, class PlaceAt, class GateAt,
            class After>
  __device__ __forceinline__ bool round_chunks(const SumsAt& sums_at, const DoubleSums& double_sums,
                                               const PlaceAt& place_at, const GateAt& gate_at,
                                               std::int8_t* result, const After& after) {
    if (!is_nearest_) return false;
    std::uint32_t most = most_of<kChunks>(sums_at);
    const int lift = quick_lift(most);
    if (lift < 0) return false;
    most_ = max(most_, most);
    if (lift > 0) double_sums();
    most <<= lift;
#pragma unroll 1
    for (int guess = 0; guess < guesses(); ++guess) {
      const int shift = (guess == 0 ? shift_ : other_) + lift;
      std::int8_t* to = guess == 0 ? result : second_;
      std::uint32_t saturated = 0;
      const bool has_cuts = !__all_sync(~0u, fits(most, shift));
#pragma unroll
      for (int first = 0; first < kChunks; first += kTogether) {
        uint4 chunks[kTogether];
        if (!has_cuts) {
          store_chunks<false, kTogether>(first, sums_at, place_at, gate_at, shift, to, chunks,
                                         saturated);
        } else {
          store_chunks<true, kTogether>(first, sums_at, place_at, gate_at, shift, to, chunks,
                                        saturated);
        }
        after(guess, first, chunks);
      }
      (guess == 0 ? saturated_ : second_saturated_) += saturated;
    }
    return true;
  }
  // All chunks of a tile's thread, to the nearest and rectified: take(guess, chunks) gets them.
  template <int kChunks, class SumsAt, class DoubleSums, class Take>
  __device__ __forceinline__ void round_rectified(const SumsAt& sums_at,
                                                  const DoubleSums& double_sums, const Take& take) {
    const Gate gate = Gate::open(true);
    std::uint32_t most = most_of<kChunks>(sums_at);
    most_ = max(most_, most);
    const int lift = quick_lift(most);
    if (lift > 0) double_sums();
    most <<= max(lift, 0);
#pragma unroll 1
    for (int guess = 0; guess < guesses(); ++guess) {
      const int shift = (guess == 0 ? shift_ : other_) + max(lift, 0);
      std::uint32_t saturated = 0;
      uint4 chunks[kChunks];
      if (lift < 0) {
#pragma unroll
        for (int i = 0; i < kChunks; ++i) {
          std::int32_t kept[kChunk];  // functions read from memory
#pragma unroll
          for (int j = 0; j < kChunk; ++j) kept[j] = sums_at(i, j);
          uint4 chunk;
          saturated += store_sums(site_, static_cast<const std::int32_t*>(kept), shift, 0, kChunk,
                                  reinterpret_cast<std::int8_t*>(&chunk), gate);
          chunks[i] = chunk;
        }
      } else if (__all_sync(~0u, fits(most, shift))) {
#pragma unroll
        for (int i = 0; i < kChunks; ++i)
          chunks[i] = chunk_in_registers<false>(i, sums_at, gate, shift, saturated);
      } else {
#pragma unroll
        for (int i = 0; i < kChunks; ++i)
          chunks[i] = chunk_in_registers<true>(i, sums_at, gate, shift, saturated);
      }
      take(guess, chunks);
      (guess == 0 ? saturated_ : second_saturated_) += saturated;
    }
  }
  __device__ __forceinline__ int guesses() const {
    return other_ != PointState::kUnknown ? 2 : 1;
  }

  // The same of sums that sum_at(i) makes.
  template <class SumAt>
  __device__ __forceinline__ void round_sums(const SumAt& sum_at, std::uint64_t element,
                                             std::uint32_t count, std::int8_t* result,
                                             std::size_t at, const Gate& gate) {
#pragma unroll 1
    for (std::uint32_t i = 0; i < count; ++i) see(magnitude_of<std::int64_t>(sum_at(i)));
    saturated_ += store_sums(site_, sum_at, shift_, element, count, result + at, gate);
    if (other_ == PointState::kUnknown) return;
    second_saturated_ += store_sums(site_, sum_at, other_, element, count, second_ + at, gate);
  }

  // Every thread of the block that rounds comes here once, all or the first kThreads.
  // `sum_exponent` is that of the sums, `exponent` where the result's goes, and once more to those
  // of `again` that are not null.
  template <unsigned int kThreads = 0, class... Again>
  __device__ void end(int sum_exponent, std::int32_t* exponent, Again... again) const;

 private:
  __device__ __forceinline__ void see(std::uint64_t magnitude) {
    largest_ = largest_ > magnitude ? largest_ : magnitude;
  }

  static __device__ __forceinline__ std::int8_t kept_of(std::int64_t rounded,
                                                        std::uint32_t& saturated) {
    const std::int8_t kept = clamp127(rounded);
    saturated += kept != rounded ? 1 : 0;
    return kept;
  }

  // The largest magnitude.
  template <int kChunks, class SumsAt>
  static __device__ __forceinline__ std::uint32_t most_of(const SumsAt& sums_at) {
    std::int32_t highest = 0;
    std::int32_t lowest = 0;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
#pragma unroll
      for (int j = 0; j < kChunk; j += 2) {
        highest = __vimax3_s32(highest, sums_at(i, j), sums_at(i, j + 1));
        lowest = __vimin3_s32(lowest, sums_at(i, j), sums_at(i, j + 1));
      }
    }
    return static_cast<std::uint32_t>(max(highest, -lowest));
  }

  // Stochastically in 32 bits, by both guesses with the same draws.
  __device__ __forceinline__ void draw_chunk(const std::int32_t (&sums)[kChunk], std::uint32_t most,
                                             std::uint64_t group, std::int8_t* to,
                                             std::int8_t* second, const Gate& gate) {
    PhiloxBlock draws[kChunk / 4];
#pragma unroll
    for (int i = 0; i < kChunk / 4; ++i) draws[i] = philox::block_of(key_, group + i);
#pragma unroll 1
    for (int guess = 0; guess < guesses(); ++guess) {
      const int shift = guess == 0 ? shift_ : other_;
      const bool has_cuts = (most + (1u << shift) - 1) >> shift > 127;
      std::uint32_t saturated = 0;
      std::uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int4 quad = make_int4(
            drawn(sums[4 * i], shift, draws[i][0]), drawn(sums[4 * i + 1], shift, draws[i][1]),
            drawn(sums[4 * i + 2], shift, draws[i][2]), drawn(sums[4 * i + 3], shift, draws[i][3]));
        if (has_cuts) cut(quad, saturated);
        words[i] = packed(quad);
      }
      const uint4 chunk = make_uint4(words[0], words[1], words[2], words[3]);
      *reinterpret_cast<uint4*>(guess == 0 ? to : second) = gate(chunk);
      (guess == 0 ? saturated_ : second_saturated_) += saturated;
    }
  }
  // What is cut is rounded up where it is above the first `shift` bits of the draw, u: of x >= 0
  // that is ⌊(x + 2^shift - 1 - u) / 2^shift⌋, of x < 0 ⌊(x + u) / 2^shift⌋.
  static __device__ __forceinline__ std::int32_t drawn(std::int32_t x, int shift,
                                                       std::uint32_t draw) {
    const auto sign = static_cast<std::uint32_t>(x >> 31);  // all ones where negative
    return (x + static_cast<std::int32_t>(~(draw ^ sign) >> (32 - shift))) >> shift;
  }

  // By the definition; returns how many were cut.
  template <class Sums>
  static __device__ __noinline__ std::uint32_t store_sums(const RoundingSite& site,
                                                          const Sums& sums, int shift,
                                                          std::uint64_t element,
                                                          std::uint32_t count, std::int8_t* to,
                                                          const Gate& gate) {
    const ChunkDraws draws(site, element);
    std::uint32_t saturated = 0;
    std::uint32_t words[4] = {};
#pragma unroll
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      if (i >= count) continue;
      std::int8_t kept = 0;
      if constexpr (std::is_pointer_v<Sums>) {
        kept = kept_of(round_shift(site.rounding, sums[i], shift, draws.draw[i]), saturated);
      } else {
        kept = kept_of(round_shift(site.rounding, sums(i), shift, draws.draw[i]), saturated);
      }
      words[i / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(kept)) << i % 4 * 8;
    }
    const uint4 chunk = make_uint4(words[0], words[1], words[2], words[3]);
    *reinterpret_cast<uint4*>(to) = gate(chunk);
    return saturated;
  }

  template <bool kCuts, int kTogether, class SumsAt, class PlaceAt, class GateAt>
  static __device__ __forceinline__ void store_chunks(int first, const SumsAt& sums_at,
                                                      const PlaceAt& place_at,
                                                      const GateAt& gate_at, int shift,
                                                      std::int8_t* to, uint4 (&chunks)[kTogether],
                                                      std::uint32_t& saturated) {
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      chunks[k] =
          chunk_in_registers<kCuts>(first + k, sums_at, gate_at(first + k), shift, saturated);
      *reinterpret_cast<uint4*>(to + place_at(first + k)) = chunks[k];
    }
  }
  template <bool kCuts, class SumsAt>
  static __device__ __forceinline__ uint4 chunk_in_registers(int i, const SumsAt& sums_at,
                                                             const Gate& gate, int shift,
                                                             std::uint32_t& saturated) {
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      int4 quad = rounded(make_int4(sums_at(i, 4 * w), sums_at(i, 4 * w + 1), sums_at(i, 4 * w + 2),
                                    sums_at(i, 4 * w + 3)),
                          shift);
      if constexpr (kCuts) cut(quad, saturated);
      words[w] = gate.rectifies ? packed<true>(quad) : packed(quad);
    }
    return gate.passed(make_uint4(words[0], words[1], words[2], words[3]));
  }

  // To the nearest in 32 bits, where some may be cut.
  static __device__ __noinline__ std::uint32_t store_cut(const std::int32_t* sums, int shift,
                                                         std::int8_t* to, const Gate& gate) {
    std::uint32_t saturated = 0;
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int4 quad = rounded(reinterpret_cast<const int4*>(sums)[i], shift);
      cut(quad, saturated);
      words[i] = packed(quad);
    }
    const uint4 chunk = make_uint4(words[0], words[1], words[2], words[3]);
    *reinterpret_cast<uint4*>(to) = gate(chunk);
    return saturated;
  }

  // Even the largest is not cut, and 32 bits hold all: then shift <= 24 and |sum| < 2^31 - 2^23.
  static __device__ __forceinline__ bool fits(std::uint32_t most, int shift) {
    return shift <= kQuickShift && (most + (1u << (shift - 1))) >> shift <= 127;
  }
  template <class Sums>
  static __device__ __forceinline__ int4 quad_of(const Sums& sums, int first) {
    if constexpr (std::is_pointer_v<Sums>) {
      return *reinterpret_cast<const int4*>(sums + first);
    } else {
      return make_int4(sums[first], sums[first + 1], sums[first + 2], sums[first + 3]);
    }
  }
  // None of them is cut.
  static __device__ __forceinline__ uint4 rounded_chunk(const std::int32_t (&sums)[kChunk],
                                                        int shift, const Gate& gate) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int4 sum = quad_of(sums, 4 * i);
      const int4 quad = shift == 0 ? sum : rounded(sum, shift);
      words[i] = gate.rectifies ? packed<true>(quad) : packed(quad);
    }
    return gate.passed(make_uint4(words[0], words[1], words[2], words[3]));
  }
  static __device__ __forceinline__ int4 rounded(const int4& quad, int shift) {
    return {rounded_shift_of_small(quad.x, shift), rounded_shift_of_small(quad.y, shift),
            rounded_shift_of_small(quad.z, shift), rounded_shift_of_small(quad.w, shift)};
  }
  // Four numbers within a byte; where kRectifies negative ones become zero.
  template <bool kRectifies = false>
  static __device__ __forceinline__ std::uint32_t packed(const int4& quad) {
#if __CUDA_ARCH__ >= 720
#define NIBBLE_PACK(kind)                                   \
  asm("{\n.reg .b32 upper;\n"                               \
      "cvt.pack.sat." kind                                  \
      ".s32.b32 upper, %4, %3, 0;\n"                        \
      "cvt.pack.sat." kind ".s32.b32 %0, %2, %1, upper;\n}" \
      : "=r"(word)                                          \
      : "r"(quad.x), "r"(quad.y), "r"(quad.z), "r"(quad.w))
    std::uint32_t word = 0;
    if constexpr (kRectifies) {
      NIBBLE_PACK("u8");
    } else {
      NIBBLE_PACK("s8");
    }
#undef NIBBLE_PACK
    return word;
#else
    const std::uint32_t word = __byte_perm(__byte_perm(quad.x, quad.y, 0x0040),
                                           __byte_perm(quad.z, quad.w, 0x0040), 0x5410);
    return kRectifies ? __vmaxs4(word, 0u) : word;
#endif
  }
  static __device__ __forceinline__ void cut(std::int32_t& number, std::uint32_t& saturated) {
    const std::int32_t kept = max(min(number, 127), -127);
    saturated += kept != number ? 1 : 0;
    number = kept;
  }
  static __device__ __forceinline__ void cut(int4& quad, std::uint32_t& saturated) {
    cut(quad.x, saturated);
    cut(quad.y, saturated);
    cut(quad.z, saturated);
    cut(quad.w, saturated);
  }
  // Whether 32 bits hold all that comes of sums up to `most` in any thread of the warp: by how many
  // bits sums are to be lifted, so that no shift is 0; below 0: they do not.
  __device__ __forceinline__ int quick_lift(std::uint32_t most) const {
    const bool has_second = other_ != PointState::kUnknown;
    const int lift = shift_ == 0 || other_ == 0 ? 1 : 0;
    const bool is_all_quick = is_quick(shift_ + lift) && (!has_second || is_quick(other_ + lift));
    return is_all_quick && __all_sync(~0u, most < kQuickSum >> lift) ? lift : -1;
  }
  // With sums below kQuickSum 32 bits hold all.
  static __device__ __forceinline__ bool is_quick(int shift) {
    return shift > 0 && shift <= kQuickShift;
  }

  static constexpr int kQuickShift = 24;
  static constexpr std::uint32_t kQuickSum = 1u << 30;  // with half of 2^24 it is below 2^31

  const RoundingSite& site_;
  RandomKey key_ = {};  // where the rounding is stochastic
  std::int8_t* second_;
  std::uint64_t largest_ = 0;
  std::uint32_t most_ = 0;  // the same of sums of 32 bits
  std::uint32_t saturated_ = 0;
  std::uint32_t second_saturated_ = 0;
  int shift_;
  int other_;  // by which a second guess rounds
  bool is_nearest_;
  bool is_needed_;
};

template <unsigned int kThreads, class... Again>
__device__ inline void RoundingPass::end(int sum_exponent, std::int32_t* exponent,
                                         Again... again) const {
  const std::uint64_t largest = largest_ > most_ ? largest_ : most_;
  const BlockTotals all = block_totals<kThreads>(largest, saturated_, second_saturated_);
  if (threadIdx.x != 0) return;
  DevicePoint& point = *site_.point;
  if (site_.is_repeat) {
    if (all.sum > 0) atomic_add(reinterpret_cast<std::uint64_t*>(&point.state.saturated), all.sum);
    return;
  }
  if (all.largest > 0) atomic_max(&point.largest, all.largest);
  if (all.sum > 0) atomic_add(&point.saturated, all.sum);
  if (all.second_sum > 0) atomic_add(&point.second_saturated, all.second_sum);
  if (!is_last_block(&point.blocks_done, gridDim.x * gridDim.y)) return;
  point.sum_exponent = sum_exponent;
  if (site_.meets_ranks) return;
  decide(point, site_.step->rule, site_.elements, site_.second != nullptr, exponent);
  const auto repeat = [&](std::int32_t* to) {
    if (to != nullptr) *to = *exponent;
  };
  (repeat(again), ...);
}

}  // namespace nibble::cuda
