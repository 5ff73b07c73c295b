// SPDX-License-Identifier: Apache-2.0
// How the sums of a product become rows of int8: a bias is added, the sum is rounded, a rectifier
// may follow.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/rounding.cuh"
#include "backend/cuda/turned.cuh"
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

// As one thread sees it. What every chunk asks for is kept in registers. Where results are turned
// as well fewer chunks are rounded together: those that cross shared memory at a time.
template <bool kTurns = false>
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
  __device__ __forceinline__ bool ends_early(std::int8_t* memory = nullptr) const {
    if (!pass_.is_needed()) return true;
    if (!pass_.is_done()) return false;
    if constexpr (kTurns) {
      take_second_turned(memory);
    } else {
      take_second();
    }
    return true;
  }

  // What a rectifier of errors looks at.
  __device__ __forceinline__ uint4 values_at(std::uint32_t row, std::uint32_t column) const {
    return passed_ == nullptr ? make_uint4(0, 0, 0, 0) : chunk_at(passed_, row, column);
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

  // All sums of a tile that this thread has in registers; four warps have `memory` to turn results.
  template <class RowSpan, class Sums>
  __device__ __forceinline__ void tile(const RowSpan& rows, std::uint32_t first_column, Sums& sums,
                                       std::int8_t* memory) {
    constexpr int kChunks = Sums::kChunks;
    constexpr int kTogether = kTurns ? kTurnedTogether : kChunks;
    uint4 values[kTogether];  // on their way before they are looked at
    const auto bring_values = [&](int first) {
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        values[i] =
            values_at(rows.at(sums.row_of(first + i)), first_column + sums.column_of(first + i));
    };
    bring_values(0);
    const bool is_whole = rows.at(Sums::kRows - 1) < rows_ &&
                          first_column + Sums::kColumns <= channels_ && channels_ == pitch_;
    const std::size_t begin =
        std::size_t{rows.at(sums.row_of(0))} * pitch_ + first_column + sums.column_of(0);
    const std::size_t step = std::size_t{rows.step} * pitch_;
    const auto after = [&](int guess, int first, const uint4(&chunks)[kTogether]) {
      if constexpr (kTurns) {
        const int next = (first + kTogether) % kChunks;
        if (next != 0 || guess + 1 < pass_.guesses()) bring_values(next);
        if (guess == 0) turn(rows.first, first_column, sums, first, chunks, memory);
      }
    };
    if (is_whole && bias_ == nullptr &&
        pass_.template round_chunks<kChunks, kTogether>(
            [&](int i, int j) { return sums.at(i, j); }, [&] { sums.double_all(); },
            [&](int i) { return begin + Sums::row_step(i) * step + Sums::column_step(i); },
            [&](int i) { return gate_of(values[i % kTogether]); }, data_, after))
      return;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      std::int32_t kept[kChunk];
#pragma unroll
      for (int j = 0; j < kChunk; ++j) kept[j] = sums.at(i, j);
      const std::uint32_t row = rows.at(sums.row_of(i));
      const std::uint32_t column = first_column + sums.column_of(i);
      chunk(row, column, kept, values_at(row, column));
    }
    if constexpr (kTurns) {
#pragma unroll 1
      for (int first = 0; first < kChunks; first += kTogether) {
        uint4 chunks[kTogether];  // as this thread has stored them
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
          chunks[i] = chunk_at(data_, rows.at(sums.row_of(first + i)),
                               first_column + sums.column_of(first + i));
        turn(rows.first, first_column, sums, first, chunks, memory);
      }
    }
  }

  // Every thread of the block that rounds comes here once, all or the first kThreads.
  template <unsigned int kThreads = 0>
  __device__ __forceinline__ void end() const {
    pass_.template end<kThreads>(scale_.exponent, job_.result.exponent, job_.rectified_exponent);
  }

 private:
  static constexpr int kTurnedTogether = 4;

  __device__ __forceinline__ Gate gate_of(const uint4& values) const {
    return passed_ == nullptr ? Gate::open(rectifies_) : Gate::where_positive(values);
  }
  static __device__ __forceinline__ SumScale scale_of(const RoundedProduct& job) {
    const int product_exponent = *job.input_exponent + *job.bias.weight_exponent;
    return job.bias.mantissas != nullptr ? product_scale(product_exponent, *job.bias.exponent)
                                         : SumScale{product_exponent, 0, 0};
  }

  __device__ __forceinline__ uint4 chunk_at(const std::int8_t* from, std::uint32_t row,
                                            std::uint32_t column) const {
    if (row >= rows_ || column >= pitch_) return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4*>(from + std::size_t{row} * pitch_ + column);
  }

  // Results of one pixel, images side by side: chunks from the `first` on, which are 64 images by
  // 128 channels of four warps. All threads that multiply come here.
  template <class Sums>
  __device__ __forceinline__ void turn(std::uint32_t first_row, std::uint32_t first_column,
                                       const Sums& sums, int first,
                                       const uint4 (&chunks)[kTurnedTogether],
                                       std::int8_t* memory) const {
    const TurningTable table(memory);
    const std::uint32_t first_image = job_.result.pixels.quotient(first_row);
    const std::uint32_t pixel = job_.result.pixels.remainder(first_row, first_image);
    TurningTable::meet();  // nobody reads what was there before
#pragma unroll
    for (int i = 0; i < kTurnedTogether; ++i)
      table.put(sums.row_of(first + i) % 64, sums.column_of(first + i) % 128 / kChunk, chunks[i]);
    TurningTable::meet();
    store_turned(table, pixel, first_image + sums.row_of(first) / 64 * 64,
                 first_column + sums.column_of(first) / 128 * 128);
  }
  __device__ __forceinline__ void store_turned(const TurningTable& table, std::uint32_t pixel,
                                               std::uint32_t image, std::uint32_t column) const {
    table.take([&](std::uint32_t channel, std::uint32_t of, const uint4& turned) {
      if (column + channel < channels_)
        *reinterpret_cast<uint4*>(job_.turned +
                                  (std::size_t{pixel} * channels_ + column + channel) *
                                      job_.copies.images.divisor +
                                  image + of) = turned;
    });
  }

  // The second guess into its place.
  __device__ void take_second() const {
    const std::size_t chunks = std::size_t{job_.result.rows} * job_.result.chunks.divisor;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks;
         i += std::size_t{gridDim.x} * blockDim.x)
      reinterpret_cast<uint4*>(data_)[i] = reinterpret_cast<const uint4*>(job_.site.second)[i];
  }
  // And turned: 64 images by 128 channels of a pixel at a time, by four warps.
  __device__ void take_second_turned(std::int8_t* memory) const {
    const std::uint32_t group = threadIdx.x / 128;
    const TurningTable table(memory + group * TurningTable::kBytes);
    const std::uint32_t pixels = job_.result.pixels.divisor;
    const std::uint32_t columns = (channels_ + 127) / 128;
    const std::uint32_t groups = blockDim.x / 128;
    std::uint32_t part = blockIdx.x * groups + group;  // (image part, pixel, channel part)
    for (; part < rows_ / 64 * columns; part += gridDim.x * groups) {
      const std::uint32_t row_part = job_.column_parts.quotient(part);
      const std::uint32_t column = job_.column_parts.remainder(part, row_part) * 128;
      const std::uint32_t image_part = job_.result.pixels.quotient(row_part);
      const std::uint32_t pixel = job_.result.pixels.remainder(row_part, image_part);
      TurningTable::meet();
#pragma unroll
      for (std::uint32_t i = 0; i < kTurnedTogether; ++i) {
        const std::uint32_t image = threadIdx.x % 128 / 8 + i * 16;
        const std::uint32_t chunk = threadIdx.x % 8;
        const std::uint32_t row = (image_part * 64 + image) * pixels + pixel;
        const uint4 bytes = chunk_at(job_.site.second, row, column + chunk * kChunk);
        if (column + chunk * kChunk < pitch_)
          *reinterpret_cast<uint4*>(data_ + std::size_t{row} * pitch_ + column + chunk * kChunk) =
              bytes;
        table.put(image, chunk, bytes);
      }
      TurningTable::meet();
      store_turned(table, pixel, image_part * 64, column);
    }
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
