// SPDX-License-Identifier: Apache-2.0
// Lays examples out, and gathers answers.
#include <algorithm>

#include "backend/cuda/kernel_start.cuh"
#include "engine/cuda/device_value.cuh"
#include "engine/cuda/example_jobs.h"

namespace nibble::cuda {
namespace {

__device__ std::int32_t example_number(const void* from, ExampleType type, std::size_t at) {
  switch (type) {
    case ExampleType::i8:
      return static_cast<const std::int8_t*>(from)[at];
    case ExampleType::u8:
      return static_cast<const std::uint8_t*>(from)[at];
    case ExampleType::i32:
      return static_cast<const std::int32_t*>(from)[at];
  }
  return 0;
}

__global__ void __launch_bounds__(256) load_examples(const __grid_constant__ LoadJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::uint32_t channel = at.chunk * kChunk;
    ChunkNumbers numbers;
#pragma unroll
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      numbers.at[i] = 0;
      if (channel + i >= job.to.channels) continue;
      const std::uint32_t pixel = job.channels.quotient(channel + i);
      const std::uint32_t dy = job.count.quotient(pixel);
      const std::int32_t y = at.y * job.step[0] + job.origin[0] + static_cast<std::int32_t>(dy);
      const std::int32_t x = at.x * job.step[1] + job.origin[1] +
                             static_cast<std::int32_t>(job.count.remainder(pixel, dy));
      if (y < 0 || y >= job.extent[0] || x < 0 || x >= job.extent[1]) continue;
      const std::size_t row = (std::size_t{at.image} * job.extent[0] + y) * job.extent[1] + x;
      const std::int32_t number =
          example_number(job.from, job.type,
                         row * job.channels.divisor + job.channels.remainder(channel + i, pixel));
      if (number < job.low || number > job.high) *job.is_wrong = 1;
      numbers.at[i] = clamped(number, job.low, job.high) - job.zero;
    }
    write_chunk(job.to, place_of(job.to, at.image, at.y, at.x) + channel, numbers);
  });
}

// The lines of an example that one line of stored pixels is made of, as stored bytes in shared
// memory: between `before` and `pitch` bytes what lies outside, the number 0.
struct ExampleLines {
  std::uint32_t lines;
  std::uint32_t bytes;  // of an example's line
  std::uint32_t before;
  std::uint32_t pitch;
  Divisor run;    // by the bytes of a line that one stored pixel has
  Divisor words;  // by those of a pitch

  explicit ExampleLines(const LoadJob& job) {
    const auto channels = static_cast<std::int32_t>(job.channels.divisor);
    const std::int32_t of_pixel = static_cast<std::int32_t>(job.count.divisor) * channels;
    const std::int32_t last =
        static_cast<std::int32_t>(job.to.width - 1) * job.step[1] + job.origin[1];
    bytes = static_cast<std::uint32_t>(job.extent[1] * channels);
    lines = job.to.channels / static_cast<std::uint32_t>(of_pixel);
    before = filled(static_cast<std::uint32_t>(std::max(-job.origin[1] * channels, 0)));
    pitch =
        before + filled(std::max(bytes, static_cast<std::uint32_t>(last * channels + of_pixel)));
    run = Divisor::of(static_cast<std::uint32_t>(of_pixel));
    words = Divisor::of(pitch / 4);
  }
  static std::uint32_t filled(std::uint32_t bytes) { return (bytes + 3) / 4 * 4; }
  std::uint32_t shared_bytes() const { return lines * pitch; }
};

// What four bytes of an example become at a time, in order of signed bytes.
struct StoredWords {
  std::uint32_t signs;  // flipped before numbers are compared
  std::uint32_t low;
  std::uint32_t high;
  std::uint32_t offset;  // taken off
  std::uint32_t zero;

  explicit StoredWords(const LoadJob& job)
      : signs(job.type == ExampleType::u8 ? four(128) : 0),
        low(four(job.low) ^ signs),
        high(four(job.high) ^ signs),
        offset(four(job.zero + job.to.base)),
        zero(four(job.zero)) {}
  static std::uint32_t four(std::int32_t byte) {
    return (static_cast<std::uint32_t>(byte) & 255u) * 0x01010101u;
  }

  __device__ __forceinline__ std::uint32_t of(std::uint32_t word, std::uint32_t* is_wrong) const {
    const std::uint32_t numbers = word ^ signs;
    const std::uint32_t kept = __vmaxs4(__vmins4(numbers, high), low);
    if (kept != numbers) *is_wrong = 1;
    return __vsub4(kept ^ signs, offset);
  }
};

struct LoadLinesJob {
  LoadJob load;
  ExampleLines lines;
  StoredWords stored;
  std::uint32_t unused;
};

extern __shared__ std::uint32_t example_words[];

// Four bytes of a line from `at` on, which may end among them.
__device__ __forceinline__ std::uint32_t word_of_line(const std::uint8_t* line, std::uint32_t at,
                                                      std::uint32_t bytes, std::uint32_t zero) {
  if (bytes % 4 == 0) return *reinterpret_cast<const std::uint32_t*>(line + at);
  std::uint32_t word = zero;
  for (std::uint32_t i = 0; i < 4 && at + i < bytes; ++i)
    word ^= (line[at + i] ^ (zero & 255u)) << (8 * i);
  return word;
}

// Examples of bytes: a block lays a line of stored pixels out, of lines that it reads once.
__global__ void __launch_bounds__(256) load_lines(const __grid_constant__ LoadLinesJob all) {
  start_kernel();
  const LoadJob& job = all.load;
  const ExampleLines& lines = all.lines;
  const std::uint32_t height = job.order.height.divisor;
  const std::uint32_t rows = job.order.width.quotient(job.order.chunks.quotient(job.order.count));
  const auto* from = static_cast<const std::uint8_t*>(job.from);
  const auto* example_lines = reinterpret_cast<const std::uint8_t*>(example_words);
#pragma unroll 1
  for (std::uint32_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::uint32_t image = job.order.height.quotient(row);
    const auto y = static_cast<std::int32_t>(row - image * height);
    for (std::uint32_t i = threadIdx.x; i < lines.lines * lines.words.divisor; i += blockDim.x) {
      const std::uint32_t line = lines.words.quotient(i);
      const std::int32_t source = y * job.step[0] + job.origin[0] + static_cast<std::int32_t>(line);
      // Beyond all bytes: outside.
      const std::uint32_t at = 4 * lines.words.remainder(i, line) - lines.before;
      std::uint32_t word = all.stored.zero;
      if (source >= 0 && source < job.extent[0] && at < lines.bytes)
        word = word_of_line(from + (std::size_t{image} * job.extent[0] + source) * lines.bytes, at,
                            lines.bytes, word);
      example_words[i] = all.stored.of(word, job.is_wrong);
    }
    __syncthreads();
    const std::uint32_t chunks = job.order.width.divisor * job.order.chunks.divisor;
    for (std::uint32_t i = threadIdx.x; i < chunks; i += blockDim.x) {
      const std::uint32_t x = job.order.chunks.quotient(i);
      const std::uint32_t channel = job.order.chunks.remainder(i, x) * kChunk;
      std::uint32_t line = lines.run.quotient(channel);
      std::uint32_t within = lines.run.remainder(channel, line);
      const std::int32_t first = (static_cast<std::int32_t>(x) * job.step[1] + job.origin[1]) *
                                     static_cast<std::int32_t>(job.channels.divisor) +
                                 static_cast<std::int32_t>(lines.before);
      std::uint32_t words[4] = {};
#pragma unroll
      for (std::uint32_t k = 0; k < kChunk; ++k) {
        if (line < lines.lines) {
          words[k / 4] |= std::uint32_t{example_lines[line * lines.pitch + first + within]}
                          << (8 * (k % 4));
        }
        if (++within == lines.run.divisor) {
          within = 0;
          ++line;
        }
      }
      store_chunk(job.to.data, place_of(job.to, image, y, static_cast<std::int32_t>(x)) + channel,
                  make_uint4(words[0], words[1], words[2], words[3]));
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(256) store_examples(const __grid_constant__ StoreJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::uint32_t channel = at.chunk * kChunk;
    const std::size_t to = std::size_t{at.row} * job.from.channels + channel;
    const ChunkNumbers numbers =
        read_chunk(job.from, place_of(job.from, at.image, at.y, at.x) + channel);
#pragma unroll
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      if (channel + i >= job.from.channels) continue;
      if (job.type == ExampleType::i32) {
        static_cast<std::int32_t*>(job.to)[to + i] = numbers.at[i];
      } else {
        static_cast<std::int8_t*>(job.to)[to + i] = static_cast<std::int8_t>(numbers.at[i]);
      }
    }
  });
}

}  // namespace

void queue(DeviceQueue& queue, const LoadJob& job) {
  constexpr std::uint32_t kMostShared = 24 << 10;
  const ExampleLines lines(job);
  const bool has_zero = job.low <= job.zero && job.zero <= job.high;
  if (job.type == ExampleType::i32 || job.to.has_words != 0 || !has_zero ||
      lines.shared_bytes() > kMostShared)
    return queue.launch(load_examples, grid_of(queue, job.order.count), job);
  const std::uint32_t rows = job.order.count / job.order.chunks.divisor / job.order.width.divisor;
  queue.launch(load_lines,
               {.blocks = std::min(rows, queue.multiprocessors() * 8),
                .threads = 256,
                .shared_bytes = lines.shared_bytes()},
               LoadLinesJob{job, lines, StoredWords(job), 0});
}
void queue(DeviceQueue& queue, const StoreJob& job) {
  queue.launch(store_examples, grid_of(queue, job.order.count), job);
}

}  // namespace nibble::cuda
