// SPDX-License-Identifier: Apache-2.0
// The largest of windows, and errors back to where they were.
#include "backend/cases.h"
#include "backend/cuda/chunk_rules.cuh"
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/plain_kernels.h"
#include "backend/cuda/turned.cuh"

namespace nibble::cuda {
namespace {

// What a thread does of a pool: 16 channels at one pixel of kImages images, which are stored and
// left in `results`.
struct PoolPlace {
  std::uint32_t image;
  std::uint32_t pixel;
  const std::int32_t* sources;  // of its taps
  std::size_t from_step;        // bytes from image to image
  std::size_t to_step;
  std::size_t to;

  __device__ __forceinline__ PoolPlace(const LargestJob& job, const ChunkPlace& at)
      : image(job.to.pixels.quotient(at.row)),
        pixel(job.to.pixels.remainder(at.row, image)),
        sources(job.table.sources + pixel * job.table.taps),
        from_step(std::size_t{job.from.pixels.divisor} * row_bytes(job.from)),
        to_step(std::size_t{job.to.pixels.divisor} * row_bytes(job.to)),
        to(place_in(job.to, at)) {}

  __device__ __forceinline__ std::size_t from(const LargestJob& job, std::int32_t source,
                                              std::uint32_t channel) const {
    return place_in(
        job.from, {image * job.from.pixels.divisor + static_cast<std::uint32_t>(source), channel});
  }
};

// The first of the largest, in the order of taps. Of four taps all is on its way before the first
// is looked at.
template <int kImages>
__device__ __forceinline__ void store_largest(const LargestJob& job, const ChunkPlace& at,
                                              ChunkBytes (&best)[kImages]) {
  constexpr int kTaps = 4;
  const PoolPlace place(job, at);
  const std::uint32_t no_mark = kEachByte * PoolCase::kNoMark;
  const auto taps = static_cast<int>(job.table.taps);
  ChunkBytes marks[kImages] = {};
#pragma unroll
  for (int k = 0; k < kImages; ++k) {
    best[k] = {};
    if (job.is_rectified != 0) marks[k].words = make_uint4(no_mark, no_mark, no_mark, no_mark);
  }
  bool has_any = job.is_rectified != 0;  // zeros that only larger ones replace
#pragma unroll 1
  for (int first = 0; first < taps; first += kTaps) {
    bool is_there[kTaps];
    ChunkBytes chunks[kTaps][kImages];
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
      const std::int32_t source = first + t < taps ? place.sources[first + t] : -1;
      is_there[t] = source >= 0;
      if (!is_there[t]) continue;
      const std::size_t from = place.from(job, source, at.channel);
#pragma unroll
      for (int k = 0; k < kImages; ++k)
        chunks[t][k].words = load_chunk(job.from.data, from + k * place.from_step);
    }
#pragma unroll
    for (int t = 0; t < kTaps; ++t) {
      if (!is_there[t]) continue;
      const std::uint32_t mark = kEachByte * static_cast<std::uint32_t>(first + t);
#pragma unroll
      for (int i = 0; i < 4 * kImages; ++i) {
        std::uint32_t& top = best[i / 4].word[i % 4];
        std::uint32_t& marked = marks[i / 4].word[i % 4];
        const std::uint32_t word = chunks[t][i / 4].word[i % 4];
        const std::uint32_t wins = has_any ? __vcmpgts4(word, top) : ~0u;
        top = (top & ~wins) | (word & wins);
        marked = (marked & ~wins) | (mark & wins);
      }
      has_any = true;
    }
  }
#pragma unroll
  for (int k = 0; k < kImages; ++k) {
    store_chunk(job.to.data, place.to + k * place.to_step, best[k].words);
    store_chunk(job.marks, place.to + k * place.to_step, marks[k].words);
  }
}

// The window that has a pixel, which one at most has: its place in the pool's result, or -1, and
// the tap that the pixel is.
struct WindowOf {
  std::int32_t source = -1;
  std::uint32_t tap = 0;

  __device__ __forceinline__ WindowOf(const LargestJob& job, const PoolPlace& place) {
    if (job.is_of_two_by_two != 0) {
      const Divisor& windows = job.line_windows;
      const std::uint32_t line = windows.quotient(place.pixel / 2);  // of the picture
      const std::uint32_t x = place.pixel - 2 * line * windows.divisor;
      source = static_cast<std::int32_t>(line / 2 * windows.divisor + x / 2);
      tap = line % 2 * 2 + x % 2;
      return;
    }
    for (int i = 0; i < static_cast<int>(job.table.taps); ++i) {
      if (place.sources[i] < 0) continue;
      source = place.sources[i];
      tap = static_cast<std::uint32_t>(i);
    }
  }
};

// The error back to where the largest was.
template <int kImages>
__device__ __forceinline__ void store_returned(const LargestJob& job, const ChunkPlace& at,
                                               ChunkBytes (&results)[kImages]) {
  const PoolPlace place(job, at);
  const WindowOf window(job, place);
  ChunkBytes marks[kImages];
#pragma unroll
  for (int k = 0; k < kImages; ++k) {
    results[k] = {};
    if (window.source < 0) continue;
    const std::size_t from = place.from(job, window.source, at.channel) + k * place.from_step;
    results[k].words = load_chunk(job.from.data, from);
    marks[k].words = load_chunk(job.marks, from);
  }
#pragma unroll
  for (int k = 0; k < kImages; ++k) {
    const std::size_t to = place.to + k * place.to_step;
    if (window.source >= 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        results[k].word[i] &= __vcmpeq4(marks[k].word[i], kEachByte * window.tap);
    }
    if (job.passed != nullptr)
      results[k].words = Gate::where_positive(load_chunk(job.passed, to)).passed(results[k].words);
    store_chunk(job.to.data, to, results[k].words);
  }
}

// The pixel of tap i % 4 of window i / 4, of windows of two by two: threads that have the same
// window read the same error.
__device__ __forceinline__ std::uint32_t pixel_of_tap(const LargestJob& job, std::uint32_t i) {
  const std::uint32_t window = i / 4;
  const std::uint32_t y = job.line_windows.quotient(window);
  const std::uint32_t x = job.line_windows.remainder(window, y);
  return (2 * y + i / 2 % 2) * 2 * job.line_windows.divisor + 2 * x + i % 2;
}

template <bool kForward, bool kTurns>
__global__ void __launch_bounds__(256, kForward ? 2 : 4)
    pool_largest(const __grid_constant__ LargestJob job) {
  start_kernel();
  const auto store = [&](const ChunkPlace& at, auto& chunks) {
    if constexpr (kForward) {
      store_largest(job, at, chunks);
    } else {
      store_returned(job, at, chunks);
    }
  };
  if constexpr (kTurns) {
    turn_pictures(
        job.turned, blockIdx.x,
        [&](const ChunkPlace& at, std::uint32_t, ChunkBytes(&chunks)[4]) {
          store(at, chunks);  // images are a multiple of four
        },
        [&](std::uint32_t i) {
          return kForward || job.is_of_two_by_two == 0 ? i : pixel_of_tap(job, i);
        });
  } else {
    for_each_chunk(job.to, [&](const ChunkPlace& at) {
      ChunkBytes one[1];
      store(at, one);
    });
  }
  set_exponent(job.to, *job.from.exponent);
  if (job.rectified_exponent != nullptr && blockIdx.x == 0 && threadIdx.x == 0)
    *job.rectified_exponent = *job.from.exponent;
}

}  // namespace

void queue(DeviceQueue& queue, const LargestJob& job) {
  const bool is_forward = job.is_forward != 0;
  if (job.turned.to == nullptr)
    return queue.launch(is_forward ? pool_largest<true, false> : pool_largest<false, false>,
                        grid_of(queue, job.to), job);
  LargestJob own = job;
  own.turned = cut(job.turned);
  queue.launch(is_forward ? pool_largest<true, true> : pool_largest<false, true>,
               {.blocks = blocks_of(own.turned)}, own);
}

}  // namespace nibble::cuda
