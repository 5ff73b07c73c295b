// SPDX-License-Identifier: Apache-2.0
// How the sums of a product become rows of int8: a bias is added, the sum is rounded, a rectifier
// may follow.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/rounding.cuh"
#include "laws/integer_laws.h"

namespace nibble::cuda {

struct BiasedSums {
  const std::int32_t* sums;
  const std::int8_t* bias;
  int product_lift;
  int bias_lift;

  __device__ __forceinline__ std::int64_t operator()(std::uint32_t i) const {
    return sums[i] * (std::int64_t{1} << product_lift) + bias[i] * (std::int64_t{1} << bias_lift);
  }
};

// As one thread sees it. What every chunk asks for is kept in registers.
class RoundedEnding {
 public:
  __device__ __forceinline__ explicit RoundedEnding(const RoundedProduct& job)
      : job_(job),
        pass_(job.site),
        scale_(scale_of(job)),
        before_(static_cast<std::uint64_t>(job.site.step->first_image) * job.result.pixels.divisor),
        data_(job.result.data),
        bias_(job.bias.mantissas),
        passed_(job.passed),
        rows_(job.shape.a.rows),
        channels_(job.result.channels),
        pitch_(job.result.chunks.divisor * kChunk),
        rectifies_(job.rectified_exponent != nullptr && job.passed == nullptr) {}

  // Nothing is left to multiply: the guess was right, or the second one was, whose results are then
  // put into place.
  __device__ __forceinline__ bool ends_early() const {
    if (!pass_.is_needed()) return true;
    if (!pass_.is_done()) return false;
    take_second();
    return true;
  }

  // What a rectifier of errors looks at.
  __device__ __forceinline__ uint4 values_at(std::uint32_t row, std::uint32_t column) const {
    if (passed_ == nullptr || row >= rows_ || column >= pitch_) return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4*>(passed_ + std::size_t{row} * pitch_ + column);
  }

  // 16 sums of a row from a column on, in shared memory or in registers.
  template <class Sums>
  __device__ __forceinline__ void chunk(std::uint32_t row, std::uint32_t column, const Sums& sums,
                                        const uint4& values) {
    if (row >= rows_ || column >= pitch_) return;
    const std::uint64_t element = (before_ + row) * channels_ + column;
    const std::uint32_t count = min(channels_ - column, std::uint32_t{kChunk});
    const std::size_t at = std::size_t{row} * pitch_ + column;
    const Gate gate = gate_of(values);
    if (bias_ == nullptr) {
      pass_.round_chunk(sums, element, count, data_, at, gate);
      return;
    }
    std::int32_t kept[kChunk];  // functions read from memory
#pragma unroll
    for (int i = 0; i < kChunk; ++i) kept[i] = sums[i];
    pass_.round_sums(BiasedSums{kept, bias_ + column, scale_.product_lift, scale_.bias_lift},
                     element, count, data_, at, gate);
  }

  // All sums of a tile that this thread has in registers.
  template <class Sums>
  __device__ __forceinline__ void tile(std::uint32_t first_row, std::uint32_t first_column,
                                       const Sums& sums) {
    constexpr int kChunks = Sums::kChunks;
    uint4 values[kChunks];  // all on their way before the first is looked at
#pragma unroll
    for (int i = 0; i < kChunks; ++i)
      values[i] = values_at(first_row + sums.row_of(i), first_column + sums.column_of(i));
    const bool is_whole = first_row + Sums::kRows <= rows_ &&
                          first_column + Sums::kColumns <= channels_ && channels_ == pitch_;
    const std::size_t begin =
        std::size_t{first_row + sums.row_of(0)} * pitch_ + first_column + sums.column_of(0);
    if (is_whole && bias_ == nullptr &&
        pass_.template round_chunks<kChunks>(
            [&](int i, int j) { return sums.at(i, j); },
            [&](int i) { return begin + Sums::row_step(i) * pitch_ + Sums::column_step(i); },
            [&](int i) { return gate_of(values[i]); }, data_))
      return;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      std::int32_t kept[kChunk];
#pragma unroll
      for (int j = 0; j < kChunk; ++j) kept[j] = sums.at(i, j);
      chunk(first_row + sums.row_of(i), first_column + sums.column_of(i), kept, values[i]);
    }
  }

  // Every thread of the block that rounds comes here once, all or the first kThreads.
  template <unsigned int kThreads = 0>
  __device__ __forceinline__ void end() const {
    pass_.end<kThreads>(scale_.exponent, job_.result.exponent, job_.rectified_exponent);
  }

 private:
  __device__ __forceinline__ Gate gate_of(const uint4& values) const {
    return passed_ == nullptr ? Gate::open(rectifies_) : Gate::where_positive(values);
  }
  static __device__ __forceinline__ SumScale scale_of(const RoundedProduct& job) {
    const int product_exponent = *job.input_exponent + *job.bias.weight_exponent;
    return job.bias.mantissas != nullptr ? product_scale(product_exponent, *job.bias.exponent)
                                         : SumScale{product_exponent, 0, 0};
  }

  __device__ void take_second() const {
    const Rows& result = job_.result;
    const std::size_t chunks = std::size_t{result.rows} * result.chunks.divisor;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks;
         i += std::size_t{gridDim.x} * blockDim.x)
      reinterpret_cast<uint4*>(result.data)[i] =
          reinterpret_cast<const uint4*>(job_.site.second)[i];
  }

  const RoundedProduct& job_;
  RoundingPass pass_;
  SumScale scale_;
  std::uint64_t before_;  // rows of other ranks
  std::int8_t* data_;
  const std::int8_t* bias_;
  const std::int8_t* passed_;
  std::uint32_t rows_;
  std::uint32_t channels_;
  std::uint32_t pitch_;
  bool rectifies_;
};

}  // namespace nibble::cuda
