// SPDX-License-Identifier: Apache-2.0
// How the sums of a product become numbers of 16 bits for a batch norm.
#pragma once

#include "backend/cuda/device_params.h"
#include "laws/batch_norm.h"

namespace nibble::cuda {

// As one thread sees it.
class NormedEnding {
 public:
  __device__ __forceinline__ explicit NormedEnding(const NormedProduct& job)
      : job_(job),
        shifts_(job.shifts),
        data_(job.result.data),
        rows_(job.shape.a.rows),
        pitch_(job.result.chunks.divisor * kChunk) {}

  // sum_at(i) of a row from a column on, i < 16.
  template <class SumAt>
  __device__ __forceinline__ void chunk(std::uint32_t row, std::uint32_t column,
                                        const SumAt& sum_at) const {
    if (row >= rows_ || column >= pitch_) return;
    const uint4 bytes = *reinterpret_cast<const uint4*>(shifts_ + column);
    const std::uint32_t shifts[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
    std::uint32_t words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      words[i] = number(sum_at, shifts, 2 * i) | number(sum_at, shifts, 2 * i + 1) << 16;
    auto* to = reinterpret_cast<uint4*>(data_ + (std::size_t{row} * pitch_ + column) *
                                                    sizeof(std::int16_t));
    to[0] = make_uint4(words[0], words[1], words[2], words[3]);
    to[1] = make_uint4(words[4], words[5], words[6], words[7]);
  }

  // All sums of a tile that this thread has in registers.
  template <class Rows, class Sums>
  __device__ __forceinline__ void tile(const Rows& rows, std::uint32_t first_column,
                                       const Sums& sums, std::int8_t* /*memory*/) const {
#pragma unroll
    for (int i = 0; i < Sums::kChunks; ++i)
      chunk(rows.at(sums.row_of(i)), first_column + sums.column_of(i),
            [&](int j) { return sums.at(i, j); });
  }

  template <unsigned int kThreads = 0>
  __device__ __forceinline__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      *job_.result.exponent = *job_.input_exponent + *job_.weight_exponent;
  }

 private:
  template <class SumAt>
  static __device__ __forceinline__ std::uint32_t number(const SumAt& sum_at,
                                                         const std::uint32_t (&shifts)[4], int i) {
    const int shift = static_cast<std::int8_t>(shifts[i / 4] >> i % 4 * 8);
    return static_cast<std::uint16_t>(norm_value<std::int32_t>(sum_at(i), shift));
  }

  const NormedProduct& job_;
  const std::int8_t* shifts_;
  std::int8_t* data_;
  std::uint32_t rows_;
  std::uint32_t pitch_;
};

}  // namespace nibble::cuda
