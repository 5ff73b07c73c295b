// SPDX-License-Identifier: Apache-2.0
// How the sums of a product become the largest of two by two pixels: they are rounded to the
// nearest, rectified and compared in registers, and only what a pool leaves is stored.
#pragma once

#include "backend/cuda/device_params.h"
#include "backend/cuda/rounding.cuh"

namespace nibble::cuda {

// Numbers of 7 bits in bytes: ones where a is not below b.
__device__ __forceinline__ std::uint32_t bytes_not_below(std::uint32_t a, std::uint32_t b) {
  std::uint32_t mask = 0;
  // No byte borrows from the next, and its sign is copied to all of it.
  asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(mask) : "r"((a | 0x80808080u) - b));
  return mask;
}
__device__ __forceinline__ std::uint32_t bytes_by(std::uint32_t mask, std::uint32_t there,
                                                  std::uint32_t elsewhere) {
  return (there & mask) | (elsewhere & ~mask);
}

// The largest of four pixels and the first tap that has it; none where all are zero, as
// PoolCase::is_rectified says.
struct PooledWord {
  std::uint32_t value;
  std::uint32_t mark;

  static __device__ __forceinline__ PooledWord of(std::uint32_t upper_left,
                                                  std::uint32_t upper_right,
                                                  std::uint32_t lower_left,
                                                  std::uint32_t lower_right) {
    constexpr std::uint32_t kEach = 0x01010101u;
    const std::uint32_t left_above = bytes_not_below(upper_left, upper_right);
    const std::uint32_t left_below = bytes_not_below(lower_left, lower_right);
    const std::uint32_t above = bytes_by(left_above, upper_left, upper_right);
    const std::uint32_t below = bytes_by(left_below, lower_left, lower_right);
    const std::uint32_t is_above = bytes_not_below(above, below);
    const std::uint32_t value = bytes_by(is_above, above, below);
    const std::uint32_t tap =
        (bytes_by(is_above, ~left_above, ~left_below) & kEach) | (~is_above & 2 * kEach);
    return {value, tap | ~bytes_not_below(value, kEach)};
  }
};

// As one thread sees it. Rows of a tile are patches of 2 lines by 8 pixels, an image after the
// other: of a quad's 16 channels a thread has both lines at one of the 8 pixels, and its neighbour
// four lanes away the pixel beside.
class PooledEnding {
 public:
  __device__ __forceinline__ explicit PooledEnding(const RoundedProduct& job)
      : job_(job),
        pass_(job.site),
        exponent_(*job.input_exponent + *job.bias.weight_exponent),
        channels_(job.result.channels) {}

  // As RoundedEnding's.
  __device__ __forceinline__ bool ends_early() const {
    if (!pass_.is_needed()) return true;
    if (!pass_.is_done()) return false;
    const std::size_t chunks = pooled_bytes() / kChunk;
    const auto* second = reinterpret_cast<const uint4*>(job_.site.second);
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks;
         i += std::size_t{gridDim.x} * blockDim.x) {
      const uint4 values = second[i];
      const uint4 marks = second[chunks + i];
      reinterpret_cast<uint4*>(job_.pooled.values)[i] = values;
      reinterpret_cast<uint4*>(job_.pooled.marks)[i] = marks;
    }
    return true;
  }

  // `rows` are those of the pool: of the first image's first pixel, and from image to image.
  template <class RowSpan, class Sums>
  __device__ __forceinline__ void tile(const RowSpan& rows, std::uint32_t first_column, Sums& sums,
                                       std::int8_t*) {
    static_assert(Sums::kGroups % 2 == 0);
    const std::uint32_t lane = threadIdx.x % 32;
    const bool is_left = lane / 4 % 2 == 0;
    pass_.template round_rectified<Sums::kChunks>(
        [&](int i, int j) { return sums.at(i, j); }, [&] { sums.double_all(); },
        [&](int guess, const uint4(&chunks)[Sums::kChunks]) {
          std::int8_t* values = guess == 0 ? job_.pooled.values : job_.site.second;
          std::int8_t* marks = guess == 0 ? reinterpret_cast<std::int8_t*>(job_.pooled.marks)
                                          : job_.site.second + pooled_bytes();
#pragma unroll
          for (int i = 0; i < Sums::kChunks; i += 4) {
            // Who is left pools the first 64 channels, who is right the next.
            const uint4 upper = beside(is_left, chunks[i], chunks[i + 2]);
            const uint4 lower = beside(is_left, chunks[i + 1], chunks[i + 3]);
            uint4 value;
            uint4 mark;
            const auto pool = [&](auto word) {
              const PooledWord pooled = PooledWord::of(is_left ? chunks[i].*word : upper.*word,
                                                       is_left ? upper.*word : chunks[i + 2].*word,
                                                       is_left ? chunks[i + 1].*word : lower.*word,
                                                       is_left ? lower.*word : chunks[i + 3].*word);
              value.*word = pooled.value;
              mark.*word = pooled.mark;
            };
            pool(&uint4::x);
            pool(&uint4::y);
            pool(&uint4::z);
            pool(&uint4::w);
            const std::uint32_t column = first_column + Sums::column_of(i) + (is_left ? 0u : 64u);
            if (column >= channels_) continue;
            const std::size_t at =
                std::size_t{rows.at(Sums::row_of(i) / kPatchPixels) + lane / 8} * channels_ +
                column;
            *reinterpret_cast<uint4*>(values + at) = value;
            *reinterpret_cast<uint4*>(marks + at) = mark;
          }
        });
  }

  // As RoundedEnding's.
  template <unsigned int kThreads>
  __device__ __forceinline__ void end() const {
    pass_.template end<kThreads>(exponent_, job_.result.exponent, job_.rectified_exponent,
                                 job_.pooled.exponents[0], job_.pooled.exponents[1]);
  }

 private:
  __device__ __forceinline__ std::size_t pooled_bytes() const {
    return std::size_t{job_.result.rows / 4} * channels_;
  }
  // The neighbour's chunk: who is left gets the first and gives the second.
  static __device__ __forceinline__ uint4 beside(bool is_left, const uint4& first,
                                                 const uint4& second) {
    constexpr int kNeighbour = 4;
    const auto exchanged = [&](std::uint32_t a, std::uint32_t b) {
      return __shfl_xor_sync(~0u, is_left ? b : a, kNeighbour);
    };
    return make_uint4(exchanged(first.x, second.x), exchanged(first.y, second.y),
                      exchanged(first.z, second.z), exchanged(first.w, second.w));
  }

  const RoundedProduct& job_;
  RoundingPass pass_;
  int exponent_;  // of the sums
  std::uint32_t channels_;
};

}  // namespace nibble::cuda
