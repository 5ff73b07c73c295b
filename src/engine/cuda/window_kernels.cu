// SPDX-License-Identifier: Apache-2.0
// Windows of pictures, 16 channels of a pixel a thread.
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/finish_laws.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "engine/cuda/device_value.cuh"
#include "engine/cuda/window_jobs.h"

namespace nibble::cuda {
namespace {

// Where the window of a pixel begins.
struct WindowStart {
  std::int32_t y;
  std::int32_t x;

  __device__ WindowStart(const DeviceWindow& window, const ValueChunk& at)
      : y(at.y * window.stride[0] - window.padding[0]),
        x(at.x * window.stride[1] - window.padding[1]) {}
};

// body(tap, y, x) for every tap, within the picture or not.
template <class Body>
__device__ __forceinline__ void for_each_tap(const DeviceWindow& window, const ValueChunk& at,
                                             const Body& body) {
  const WindowStart start(window, at);
  std::int32_t tap = 0;
  for (std::int32_t ky = 0; ky < window.kernel[0]; ++ky) {
    for (std::int32_t kx = 0; kx < window.kernel[1]; ++kx, ++tap)
      body(tap, start.y + ky * window.dilation[0], start.x + kx * window.dilation[1]);
  }
}

// body(y, x) for every pixel of a window that is there.
template <class Body>
__device__ __forceinline__ void for_each_inside(const DeviceValue& in, const DeviceWindow& window,
                                                const ValueChunk& at, const Body& body) {
  const WindowStart start(window, at);
  const std::int32_t bottom = min(start.y + window.kernel[0], static_cast<int>(in.height));
  const std::int32_t right = min(start.x + window.kernel[1], static_cast<int>(in.width));
  for (std::int32_t y = max(start.y, 0); y < bottom; ++y) {
    for (std::int32_t x = max(start.x, 0); x < right; ++x) body(y, x);
  }
}

__device__ __forceinline__ std::uint32_t four_of(std::int32_t byte) {
  return (static_cast<std::uint32_t>(byte) & 255u) * 0x01010101u;
}

// Four taps of a channel are side by side where they meet their weights. kSide: of windows that are
// such squares; 0: of any.
template <int kSide, class Ending>
__global__ void __launch_bounds__(256) depthwise(const __grid_constant__ GroupedJob job) {
  start_kernel();
  const std::uint32_t outside = four_of(-job.in.base);
  const std::int32_t width = kSide > 0 ? kSide : job.window.kernel[1];
  const std::int32_t height = kSide > 0 ? kSide : job.window.kernel[0];
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const WindowStart start(job.window, at);
    const std::int8_t* image = job.in.data + place_of(job.in, at.image, 0, 0) + at.chunk * kChunk;
    std::int32_t sums[kChunk] = {};
    std::int32_t ky = 0;
    std::int32_t kx = 0;
#pragma unroll
    for (std::int32_t first = 0; first < height * width; first += 4) {
      ChunkBytes values[4];
#pragma unroll
      for (int t = 0; t < 4; ++t) {  // behind the last one weights are 0
        values[t].words = make_uint4(outside, outside, outside, outside);
        const std::int32_t y = start.y + ky * job.window.dilation[0];
        const std::int32_t x = start.x + kx * job.window.dilation[1];
        if (ky < height && has_pixel(job.in, y, x))
          values[t].words = load_chunk(image, place_of(job.in, 0, y, x));
        if (++kx == width) {
          kx = 0;
          ++ky;
        }
      }
      const auto* weights =
          reinterpret_cast<const int4*>(job.weights) +
          (std::size_t{job.in.chunks} * static_cast<std::uint32_t>(first / 4) + at.chunk) * 4;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        std::uint32_t words[4] = {values[0].word[w], values[1].word[w], values[2].word[w],
                                  values[3].word[w]};
        turn_words(words);
        const Quad four = Quad::of(__ldg(weights + w));
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[4 * w + i] =
              __dp4a(static_cast<std::int32_t>(words[i]), four.at[i], sums[4 * w + i]);
      }
    }
    Ending::chunk(job.finish, at.row, at.chunk * kChunk, sums);
  });
}

// Four bytes of a pixel from any address.
__device__ __forceinline__ std::int32_t four_at(const std::int8_t* from, std::uint32_t count) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    word |= (static_cast<std::uint32_t>(from[i]) & 255u) << (8 * i);
  return static_cast<std::int32_t>(word);
}

__global__ void __launch_bounds__(256) grouped(const __grid_constant__ GroupedJob job) {
  start_kernel();
  const auto outside = static_cast<std::int32_t>(four_of(-job.in.base));
  const std::uint32_t words = (job.depth + 3) / 4;
  const bool is_even = job.depth % 4 == 0;
  const std::uint32_t taps = job.window.kernel[0] * job.window.kernel[1];
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    std::int32_t sums[kChunk] = {};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::uint32_t out = at.chunk * kChunk + i;
      const std::uint32_t first = job.outputs.quotient(out) * job.depth;
      if (first >= job.in.channels) break;  // filled up
      std::int32_t sum = 0;
      for_each_tap(job.window, at, [&](std::int32_t tap, std::int32_t y, std::int32_t x) {
        const auto* weights = reinterpret_cast<const std::int32_t*>(job.weights) +
                              (std::size_t{out} * taps + tap) * words;
        const bool is_there = has_pixel(job.in, y, x);
        const std::int8_t* from =
            is_there ? job.in.data + place_of(job.in, at.image, y, x) + first : nullptr;
        for (std::uint32_t k = 0; k < words; ++k) {
          std::int32_t values = outside;
          if (is_there) {
            values = is_even ? reinterpret_cast<const std::int32_t*>(from)[k]
                             : four_at(from + 4 * k, min(job.depth - 4 * k, 4u));
          }
          sum = __dp4a(values, __ldg(weights + k), sum);
        }
      });
      sums[i] = sum;
    }
    end_chunk(job.finish, at.row, at.chunk * kChunk, sums);
  });
}

__global__ void __launch_bounds__(256) end_shared_sums(const __grid_constant__ SharedSumsJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::uint32_t column = at.chunk * kChunk;
    auto* from =
        reinterpret_cast<int4*>(job.sums + std::size_t{at.row} * job.finish.pitch + column);
    std::int32_t sums[kChunk];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int4 four = from[i];
      sums[4 * i] = four.x;
      sums[4 * i + 1] = four.y;
      sums[4 * i + 2] = four.z;
      sums[4 * i + 3] = four.w;
      from[i] = make_int4(0, 0, 0, 0);
    }
    end_chunk(job.finish, at.row, column, sums);
  });
}

__global__ void __launch_bounds__(256) wide_product(const __grid_constant__ WideProductJob job) {
  start_kernel();
  const std::uint32_t taps = job.window.kernel[0] * job.window.kernel[1];
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    std::int64_t sums[kChunk] = {};
    for (int i = 0; i < kChunk; ++i) {
      const std::uint32_t out = at.chunk * kChunk + i;
      if (out >= job.channels) break;
      const std::uint32_t first = job.outputs.quotient(out) * job.depth;
      std::int64_t sum = job.bias[out];
      for_each_tap(job.window, at, [&](std::int32_t tap, std::int32_t y, std::int32_t x) {
        if (!has_pixel(job.in, y, x)) return;
        const std::size_t from = place_of(job.in, at.image, y, x) + first;
        const std::int8_t* weights = job.weights + (std::size_t{out} * taps + tap) * job.depth;
        for (std::uint32_t k = 0; k < job.depth; ++k)
          sum += std::int64_t{number_at(job.in, from + k)} * weights[k];
      });
      sums[i] = sum;
    }
    end_wide_chunk(job.finish, at.row, at.chunk * kChunk, sums);
  });
}

// Adds up the numbers of a window, some pixels of a row on their way at a time.
__device__ __forceinline__ void add_window(const MeanJob& job, const ValueChunk& at,
                                           std::int64_t (&sums)[kChunk]) {
  constexpr int kAtOnce = 8;
  const WindowStart start(job.window, at);
  const std::int32_t bottom = min(start.y + job.window.kernel[0], static_cast<int>(job.in.height));
  const std::int32_t left = max(start.x, 0);
  const std::int32_t right = min(start.x + job.window.kernel[1], static_cast<int>(job.in.width));
  for (std::int32_t y = max(start.y, 0); y < bottom; ++y) {
    const std::size_t row = place_of(job.in, at.image, y, 0) + at.chunk * kChunk;
    for (std::int32_t x = left; x < right; x += kAtOnce) {
      ChunkBytes some[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        some[i].words = make_uint4(0, 0, 0, 0);
        if (x + i < right)
          some[i].words =
              load_chunk(job.in.data, row + std::size_t{static_cast<std::uint32_t>(x + i)} *
                                                job.in.chunks * kChunk);
      }
      const std::int32_t bases = min(right - x, kAtOnce) * job.in.base;
#pragma unroll
      for (int c = 0; c < kChunk; ++c) {
        std::int32_t sum = bases;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) sum += some[i].bytes[c];
        sums[c] += sum;
      }
    }
  }
}

__global__ void __launch_bounds__(256) mean(const __grid_constant__ MeanJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    std::int64_t sums[kChunk] = {};
    if (job.in.has_words == 0) {
      add_window(job, at, sums);
    } else {
      for_each_inside(job.in, job.window, at, [&](std::int32_t y, std::int32_t x) {
        const ChunkNumbers numbers =
            read_chunk(job.in, place_of(job.in, at.image, y, x) + at.chunk * kChunk);
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sums[i] += numbers.at[i];
      });
    }
    const std::uint32_t pixel = job.pixels.remainder(at.row, job.pixels.quotient(at.row));
    const std::int64_t factor = job.factors[pixel];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] *= factor;
    end_wide_chunk(job.finish, at.row, at.chunk * kChunk, sums);
  });
}

__global__ void __launch_bounds__(256) largest_bytes(const __grid_constant__ MaximumJob job) {
  start_kernel();
  constexpr std::uint32_t kLeast = 0x80808080u;
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    ChunkBytes most{make_uint4(kLeast, kLeast, kLeast, kLeast)};
    for_each_inside(job.in, job.window, at, [&](std::int32_t y, std::int32_t x) {
      const ChunkBytes other{
          load_chunk(job.in.data, place_of(job.in, at.image, y, x) + at.chunk * kChunk)};
#pragma unroll
      for (int i = 0; i < 4; ++i) most.word[i] = __vmaxs4(most.word[i], other.word[i]);
    });
    store_chunk(job.out.data, place_of(job.out, at.image, at.y, at.x) + at.chunk * kChunk,
                most.words);
  });
}

// Windows of kSide × kSide pixels: all on their way before the first is looked
// at.
template <int kSide>
__global__ void __launch_bounds__(256) largest_of_square(const __grid_constant__ MaximumJob job) {
  start_kernel();
  constexpr std::uint32_t kLeast = 0x80808080u;
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const WindowStart start(job.window, at);
    ChunkBytes all[kSide * kSide];
#pragma unroll
    for (int i = 0; i < kSide * kSide; ++i) {
      const std::int32_t y = start.y + i / kSide;
      const std::int32_t x = start.x + i % kSide;
      all[i].words = make_uint4(kLeast, kLeast, kLeast, kLeast);
      if (has_pixel(job.in, y, x))
        all[i].words =
            load_chunk(job.in.data, place_of(job.in, at.image, y, x) + at.chunk * kChunk);
    }
    ChunkBytes most = all[0];
#pragma unroll
    for (int i = 1; i < kSide * kSide; ++i) {
#pragma unroll
      for (int w = 0; w < 4; ++w) most.word[w] = __vmaxs4(most.word[w], all[i].word[w]);
    }
    store_chunk(job.out.data, place_of(job.out, at.image, at.y, at.x) + at.chunk * kChunk,
                most.words);
  });
}

__global__ void __launch_bounds__(256) largest_words(const __grid_constant__ MaximumJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    ChunkNumbers most;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) most.at[i] = INT32_MIN;
    for_each_inside(job.in, job.window, at, [&](std::int32_t y, std::int32_t x) {
      const ChunkNumbers other =
          read_chunk(job.in, place_of(job.in, at.image, y, x) + at.chunk * kChunk);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) most.at[i] = max(most.at[i], other.at[i]);
    });
    write_chunk(job.out, place_of(job.out, at.image, at.y, at.x) + at.chunk * kChunk, most);
  });
}

template <class Job>
void queue_chunks(DeviceQueue& queue, void (*kernel)(Job), const Job& job) {
  queue.launch(kernel, grid_of(queue, job.order.count), job);
}

bool is_square(const DeviceWindow& window, std::int32_t side) {
  return window.kernel[0] == side && window.kernel[1] == side;
}

template <class Ending>
void queue_depthwise_by(DeviceQueue& queue, const GroupedJob& job) {
  queue_chunks(queue,
               is_square(job.window, 3)   ? depthwise<3, Ending>
               : is_square(job.window, 5) ? depthwise<5, Ending>
                                          : depthwise<0, Ending>,
               job);
}

}  // namespace

void queue_depthwise(DeviceQueue& queue, const GroupedJob& job) {
  if (job.finish.addend != nullptr) return queue_depthwise_by<EndAnyhow>(queue, job);
  switch (job.finish.form) {
    case FinishForm::half_relu:
      return queue_depthwise_by<EndByLaw<HalfReluLaw<false>>>(queue, job);
    case FinishForm::half:
      return queue_depthwise_by<EndByLaw<HalfLaw<false>>>(queue, job);
    case FinishForm::wide:
      return queue_depthwise_by<EndByLaw<WideLaw<false>>>(queue, job);
    default:
      return queue_depthwise_by<EndAnyhow>(queue, job);
  }
}
void queue_grouped(DeviceQueue& queue, const GroupedJob& job) {
  queue_chunks(queue, grouped, job);
}
void queue(DeviceQueue& queue, const SharedSumsJob& job) {
  queue_chunks(queue, end_shared_sums, job);
}
void queue(DeviceQueue& queue, const WideProductJob& job) {
  queue_chunks(queue, wide_product, job);
}
void queue(DeviceQueue& queue, const MeanJob& job) {
  queue_chunks(queue, mean, job);
}
void queue(DeviceQueue& queue, const MaximumJob& job) {
  if (job.in.has_words != 0) return queue_chunks(queue, largest_words, job);
  if (is_square(job.window, 2)) return queue_chunks(queue, largest_of_square<2>, job);
  queue_chunks(queue, is_square(job.window, 3) ? largest_of_square<3> : largest_bytes, job);
}

}  // namespace nibble::cuda
