// SPDX-License-Identifier: Apache-2.0
// Laws that end four sums of a row as four bytes (FinishForm). Each says what four columns have in
// common in all rows, and makes a word of their sums and addends. Two results at a time are clamped
// as numbers of 16 bits.
#pragma once

#include "backend/cuda/sum_finish.cuh"

namespace nibble::cuda {

// The last two of four constants are not asked for where nothing is added.
template <bool kIsAdded>
struct LawColumns {
  Quad first;
  Quad second;
  Quad added;

  __device__ __forceinline__ LawColumns(const SumFinish& law, std::uint32_t column)
      : first(Quad::constant_at(law.packed + 3 * column)),
        second(Quad::constant_at(law.packed + 3 * column + 4)),
        added(kIsAdded ? Quad::constant_at(law.packed + 3 * column + 8) : Quad{}) {}
};

// f·a + c of byte a of four: f lies in the half that meets it, zeros in the other.
template <int kByte>
__device__ __forceinline__ std::int32_t times_byte(std::int32_t pair, std::uint32_t bytes,
                                                   std::int32_t c) {
  std::int32_t result;
  if constexpr (kByte < 2) {
    asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(pair), "r"(bytes), "r"(c));
  } else {
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(pair), "r"(bytes), "r"(c));
  }
  return result;
}

// 2^(t-1), or 0 where t is.
__device__ __forceinline__ std::int32_t half_of(std::int32_t shift) {
  return (1 << shift) >> 1;
}
// What is added to a number below 0 before it is shifted: -1, or nothing where the shift is 0.
__device__ __forceinline__ std::int32_t tie_of(std::int32_t number, std::int32_t shift) {
  return shift == 0 ? 0 : number >> 31;
}

__device__ __forceinline__ std::uint32_t clamped_pair(std::uint32_t pair, std::int32_t low,
                                                      std::int32_t high) {
  const auto both = [](std::int32_t number) { return __byte_perm(number, number, 0x5410); };
#if __CUDA_ARCH__ >= 900
  std::uint32_t most;
  asm("max.s16x2 %0, %1, %2;" : "=r"(most) : "r"(pair), "r"(both(low)));
  std::uint32_t result;
  asm("min.s16x2 %0, %1, %2;" : "=r"(result) : "r"(most), "r"(both(high)));
  return result;
#else
  return __vmins2(__vmaxs2(pair, both(low)), both(high));
#endif
}

// R(x·m, s) - base, for 0 <= m and 32 < s < 55: half of a step has nothing in its lower word.
__device__ __forceinline__ std::int32_t shifted_by_words(std::int32_t x, std::int32_t m,
                                                         std::int32_t s, std::int32_t base) {
  const std::int32_t tie = x >> 31;
  const std::int32_t step = s - 32;
  const std::int32_t upper = half_of(step) - base * (1 << step) + tie;
  const auto offset = static_cast<std::int64_t>(
      std::uint64_t{static_cast<std::uint32_t>(upper)} << 32 | static_cast<std::uint32_t>(tie));
  return static_cast<std::int32_t>((std::int64_t{x} * m + offset) >> 32) >> step;
}

// FinishForm::half_relu.
template <bool kIsAdded_>
struct HalfReluLaw {
  static constexpr bool kIsAdded = kIsAdded_;
  using Columns = LawColumns<kIsAdded>;

  static __device__ __forceinline__ std::uint32_t word(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    const std::uint32_t signs = law.out_base == 0 ? 0 : 0x80808080u;
    return __byte_perm(pair<0>(law, columns, added, sums), pair<2>(law, columns, added, sums),
                       0x6420) ^
           signs;
  }

 private:
  template <int kFirst>
  static __device__ __forceinline__ std::uint32_t pair(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    const std::uint32_t upper = __byte_perm(raised<kFirst>(law, columns, added, sums),
                                            raised<kFirst + 1>(law, columns, added, sums), 0x7632);
    const auto high = static_cast<std::uint32_t>(law.high);
    return __vimin_s16x2_relu(upper, high | high << 16);
  }
  // Modulo 2^32.
  template <int i>
  static __device__ __forceinline__ std::uint32_t raised(const SumFinish& law,
                                                         const Columns& columns,
                                                         std::uint32_t added, const Quad& sums) {
    auto sum = static_cast<std::uint32_t>(sums.at[i]);
    if constexpr (kIsAdded) {
      const std::int32_t product =
          times_byte<i>(columns.added.at[i], added, half_of(law.addend_shift));
      sum += static_cast<std::uint32_t>(product >> law.addend_shift);
    }
    return sum * static_cast<std::uint32_t>(columns.first.at[i]) +
           static_cast<std::uint32_t>(columns.second.at[i]);
  }
};

// FinishForm::half.
template <bool kIsAdded_>
struct HalfLaw {
  static constexpr bool kIsAdded = kIsAdded_;
  using Columns = LawColumns<kIsAdded>;

  static __device__ __forceinline__ std::uint32_t word(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    return __byte_perm(pair<0>(law, columns, added, sums), pair<2>(law, columns, added, sums),
                       0x6420);
  }

 private:
  template <int kFirst>
  static __device__ __forceinline__ std::uint32_t pair(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    const std::uint32_t upper = __byte_perm(raised<kFirst>(law, columns, added, sums),
                                            raised<kFirst + 1>(law, columns, added, sums), 0x7632);
    return clamped_pair(upper, law.low - law.out_base, law.high - law.out_base);
  }
  template <int i>
  static __device__ __forceinline__ std::uint32_t raised(const SumFinish& law,
                                                         const Columns& columns,
                                                         std::uint32_t added, const Quad& sums) {
    constexpr int kShift = 16;
    auto sum = static_cast<std::uint32_t>(sums.at[i]);
    if constexpr (kIsAdded) {
      const std::int32_t product = times_byte<i>(columns.added.at[i], added, 0);
      sum += static_cast<std::uint32_t>(
          (product + half_of(law.addend_shift) + tie_of(product, law.addend_shift)) >>
          law.addend_shift);
    }
    const std::uint32_t product = sum * static_cast<std::uint32_t>(columns.first.at[i]) +
                                  static_cast<std::uint32_t>(columns.second.at[i]);
    const std::uint32_t tie =
        half_of(kShift) - (static_cast<std::uint32_t>(law.out_base) << kShift);
    return product + tie + static_cast<std::uint32_t>(static_cast<std::int32_t>(product) >> 31);
  }
};

// FinishForm::wide.
template <bool kIsAdded_>
struct WideLaw {
  static constexpr bool kIsAdded = kIsAdded_;
  using Columns = LawColumns<kIsAdded>;

  static __device__ __forceinline__ std::uint32_t word(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    return __byte_perm(pair<0>(law, columns, added, sums), pair<2>(law, columns, added, sums),
                       0x6420);
  }

 private:
  template <int kFirst>
  static __device__ __forceinline__ std::uint32_t pair(const SumFinish& law, const Columns& columns,
                                                       std::uint32_t added, const Quad& sums) {
    const std::uint32_t lower =
        __byte_perm(shifted_by<kFirst>(law, columns, added, sums),
                    shifted_by<kFirst + 1>(law, columns, added, sums), 0x5410);
    return clamped_pair(lower, law.low - law.out_base, law.high - law.out_base);
  }
  template <int i>
  static __device__ __forceinline__ std::uint32_t shifted_by(const SumFinish& law,
                                                             const Columns& columns,
                                                             std::uint32_t added,
                                                             const Quad& sums) {
    auto biased =
        static_cast<std::uint32_t>(sums.at[i]) + static_cast<std::uint32_t>(columns.second.at[i]);
    if constexpr (kIsAdded) {
      const std::int32_t a = static_cast<std::int8_t>(added >> (8 * i));
      const std::int64_t product = std::int64_t{a} * columns.added.at[i] +
                                   (half_of(law.addend_shift) + tie_of(a, law.addend_shift));
      biased += __funnelshift_r(static_cast<std::uint32_t>(product),
                                static_cast<std::uint32_t>(product >> 32),
                                static_cast<std::uint32_t>(law.addend_shift));
    }
    return static_cast<std::uint32_t>(shifted_by_words(
        static_cast<std::int32_t>(biased), columns.first.at[i], law.shift, law.out_base));
  }
};

// Sums `column` to `column` + 15 of a row, by a law of bytes or by whatever law there is.
template <class Law>
struct EndByLaw {
  static __device__ __forceinline__ void chunk(const SumFinish& law, std::uint32_t row,
                                               std::uint32_t column, const std::int32_t* sums) {
    std::uint32_t words[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      words[q] = Law::word(law, typename Law::Columns(law, column + 4 * q), 0,
                           {{sums[4 * q], sums[4 * q + 1], sums[4 * q + 2], sums[4 * q + 3]}});
    }
    store_chunk(law.out, row_at(law, row, law.out_borders) + column,
                make_uint4(words[0], words[1], words[2], words[3]));
  }
};
struct EndAnyhow {
  static __device__ __forceinline__ void chunk(const SumFinish& law, std::uint32_t row,
                                               std::uint32_t column, const std::int32_t* sums) {
    end_chunk(law, row, column, sums);
  }
};

}  // namespace nibble::cuda
