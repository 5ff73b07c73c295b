// SPDX-License-Identifier: Apache-2.0
// Ends sums, whoever has added them up: four of a row at a time.
#pragma once

#include "backend/cuda/chunks.cuh"
#include "backend/cuda/sum_finish.h"
#include "laws/rescale.h"

namespace nibble::cuda {

// Four numbers that lie side by side.
struct Quad {
  std::int32_t at[4];

  static __device__ __forceinline__ Quad of(const int4& four) {
    return {{four.x, four.y, four.z, four.w}};
  }
  static __device__ __forceinline__ Quad constant_at(const std::int32_t* from) {
    return of(__ldg(reinterpret_cast<const int4*>(from)));
  }
};

template <class Number>
__device__ __forceinline__ std::int32_t clamped(Number y, std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>(y < low ? low : (y > high ? high : y));
}

// R(p, s) in as many bits as are proven enough; in 32 s >= 1.
__device__ __forceinline__ std::int32_t shifted(std::int32_t p, int s) {
  return rounded_shift_of_small(p, s);
}
__device__ __forceinline__ std::int64_t shifted(std::int64_t p, int s) {
  return rounded_shift(p, s);
}

// As bytes, less `base`.
__device__ __forceinline__ std::uint32_t packed(const Quad& numbers, std::int32_t base) {
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    word |= (static_cast<std::uint32_t>(numbers.at[i] - base) & 255u) << (8 * i);
  return word;
}

// `at` counts numbers: less `base` in bytes, or as they are in 32 bits.
__device__ __forceinline__ void store_quad(void* data, std::size_t at, const Quad& numbers,
                                           std::int32_t base, bool has_words) {
  if (has_words) {
    *reinterpret_cast<int4*>(static_cast<std::int32_t*>(data) + at) =
        make_int4(numbers.at[0], numbers.at[1], numbers.at[2], numbers.at[3]);
  } else {
    *reinterpret_cast<std::uint32_t*>(static_cast<std::int8_t*>(data) + at) = packed(numbers, base);
  }
}
__device__ __forceinline__ void store_quads(void* data, std::size_t at, const Quad (&numbers)[4],
                                            std::int32_t base, bool has_words) {
  if (has_words) {
#pragma unroll
    for (int i = 0; i < 4; ++i) store_quad(data, at + 4 * i, numbers[i], base, true);
  } else {
    store_chunk(data, at,
                make_uint4(packed(numbers[0], base), packed(numbers[1], base),
                           packed(numbers[2], base), packed(numbers[3], base)));
  }
}

// What four columns have in common in all rows.
struct FinishColumns {
  Quad bias;
  Quad multiplier;
  Quad addend_multiplier;

  __device__ __forceinline__ FinishColumns(const SumFinish& law, std::uint32_t column)
      : bias(Quad::constant_at(law.bias + column)),
        multiplier(Quad::constant_at(law.multiplier + column)),
        addend_multiplier(
            law.addend == nullptr ? Quad{} : Quad::constant_at(law.addend_multiplier + column)) {}
};

// Where a row of a result begins, in numbers; some have rows between those of two images.
__device__ __forceinline__ std::size_t row_at(const SumFinish& law, std::uint32_t row,
                                              std::uint32_t borders) {
  const std::uint32_t between = borders == 0 ? 0 : law.pixels.quotient(row) * borders;
  return std::size_t{row + between} * law.pitch;
}

// Four addends, as bytes.
__device__ __forceinline__ std::uint32_t addends_at(const SumFinish& law, std::uint32_t row,
                                                    std::uint32_t column) {
  if (law.addend == nullptr) return 0;
  return *reinterpret_cast<const std::uint32_t*>(law.addend + row_at(law, row, law.addend_borders) +
                                                 column);
}

// Number is what products fit in; sums have their bias.
template <class Number, class Sum>
__device__ __forceinline__ Quad finished(const SumFinish& law, const FinishColumns& columns,
                                         std::uint32_t added, const Sum (&sums)[4]) {
  const bool has_addend = law.addend != nullptr;
  Quad results;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Number sum = static_cast<Number>(sums[i]);
    if (has_addend) {
      const std::int32_t a = static_cast<std::int8_t>(added >> (8 * i)) + law.addend_base;
      const Number product = Number{a} * columns.addend_multiplier.at[i];
      sum += law.addend_shift == 0 ? product : shifted(product, law.addend_shift);
    }
    results.at[i] = clamped(shifted(sum * columns.multiplier.at[i], law.shift), law.low, law.high);
  }
  return results;
}

template <class Number>
__device__ __forceinline__ Quad finished(const SumFinish& law, const FinishColumns& columns,
                                         std::uint32_t added, const Quad& sums) {
  std::int32_t biased[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    biased[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums.at[i]) +
                                          static_cast<std::uint32_t>(columns.bias.at[i]));
  }
  return finished<Number>(law, columns, added, biased);
}

// Sums `column` to `column` + 3 of a row.
template <class Number>
__device__ __forceinline__ void end_quad(const SumFinish& law, const FinishColumns& columns,
                                         std::uint32_t row, std::uint32_t column,
                                         const Quad& sums) {
  store_quad(law.out, row_at(law, row, law.out_borders) + column,
             finished<Number>(law, columns, addends_at(law, row, column), sums), law.out_base,
             law.has_words != 0);
}

// Sums `column` to `column` + 15 of a row.
__device__ __forceinline__ void end_chunk(const SumFinish& law, std::uint32_t row,
                                          std::uint32_t column, const std::int32_t* sums) {
  Quad results[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const FinishColumns columns(law, column + 4 * i);
    const std::uint32_t added = addends_at(law, row, column + 4 * i);
    const Quad four{{sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]}};
    results[i] = law.is_wide != 0 ? finished<std::int64_t>(law, columns, added, four)
                                  : finished<std::int32_t>(law, columns, added, four);
  }
  store_quads(law.out, row_at(law, row, law.out_borders) + column, results, law.out_base,
              law.has_words != 0);
}

// The same of 64-bit sums that need no bias.
__device__ __forceinline__ void end_wide_chunk(const SumFinish& law, std::uint32_t row,
                                               std::uint32_t column, const std::int64_t* sums) {
  Quad results[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t four[4] = {sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]};
    results[i] = finished<std::int64_t>(law, FinishColumns(law, column + 4 * i),
                                        addends_at(law, row, column + 4 * i), four);
  }
  store_quads(law.out, row_at(law, row, law.out_borders) + column, results, law.out_base,
              law.has_words != 0);
}

}  // namespace nibble::cuda
