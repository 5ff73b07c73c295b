// SPDX-License-Identifier: Apache-2.0
// Losses, sums of errors, and values turned for gradients.
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/rounding.cuh"
#include "backend/cuda/training_kernels.h"
#include "backend/loss_laws.h"

namespace nibble::cuda {
namespace {

constexpr unsigned int kWarp = 32;
constexpr unsigned int kAllLanes = 0xffffffffu;

template <class Join>
__device__ std::int64_t over_warp(std::int64_t value, const Join& join) {
  for (unsigned int reach = kWarp / 2; reach > 0; reach /= 2)
    value = join(value, static_cast<std::int64_t>(__shfl_xor_sync(
                            kAllLanes, static_cast<long long>(value), static_cast<int>(reach))));
  return value;
}
__device__ std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
__device__ std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return a + b;
}

// A warp an image.
__global__ void __launch_bounds__(256) entropy(const __grid_constant__ EntropyJob job) {
  start_kernel();
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint32_t classes = job.answers.channels;
  const std::uint32_t pitch = job.answers.chunks.divisor * kChunk;
  const CrossEntropyLaw law{
      job.is_whole != 0 ? CrossEntropyForm::whole_octaves : CrossEntropyForm::fractional,
      CrossEntropyLaw::held(*job.answers.exponent), job.powers};
  const RandomKey key{job.step->seed, job.stream, job.step->step};
  const std::uint32_t warps = gridDim.x * blockDim.x / kWarp;
  for (std::uint32_t image = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
       image < job.answers.rows; image += warps) {
    const std::int8_t* answers = job.answers.data + std::size_t{image} * pitch;
    std::int8_t* error = job.error.data + std::size_t{image} * pitch;
    std::int64_t top = law.place(answers[0]);
    for (std::uint32_t c = lane; c < classes; c += kWarp) top = larger(top, law.place(answers[c]));
    top = over_warp(top, larger);
    std::int64_t sum = 0;
    for (std::uint32_t c = lane; c < classes; c += kWarp) sum += law.number(answers[c], top);
    sum = over_warp(sum, sum_of);
    std::int64_t total = 0;
    for (std::uint32_t c = lane; c < classes; c += kWarp)
      total += share_of(law.number(answers[c], top), sum, kProbabilityBits);
    total = over_warp(total, sum_of);
    const std::uint64_t first =
        (static_cast<std::uint64_t>(job.step->first_image) + image) * classes;
    for (std::uint32_t c = lane; c < pitch; c += kWarp) {
      std::int8_t rounded = 0;
      if (c < classes) {
        std::int64_t difference = share_of(law.number(answers[c], top), sum, kProbabilityBits);
        if (static_cast<std::int32_t>(c) == job.labels[image]) difference -= total;
        rounded = clamp127(
            shift_stochastic(difference, kCrossEntropyShift, philox::draw32(key, first + c)));
      }
      error[c] = rounded;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *job.error.exponent = kCrossEntropyExponent;
}

__device__ void zero_words(const ZeroJob& job) {
  auto* words = static_cast<std::uint32_t*>(job.data);
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.words;
       i += step)
    words[i] = 0;
}

__global__ void __launch_bounds__(256) zero(const __grid_constant__ ZeroJob job) {
  start_kernel();
  zero_words(job);
}

__global__ void __launch_bounds__(256) zero_list(const __grid_constant__ ZeroListJob job) {
  start_kernel();
  for (std::uint64_t i = 0; i < job.count; ++i) zero_words(job.jobs[i]);
}

// Four numbers a thread: memory reaches to a multiple of four.
__global__ void __launch_bounds__(256) add_totals(const __grid_constant__ TotalsJob job) {
  start_kernel();
  const auto* mantissas = reinterpret_cast<const char4*>(job.mantissas);
  auto* totals = reinterpret_cast<int4*>(job.totals);
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i * 4 < job.elements;
       i += step) {
    const char4 four = mantissas[i];
    int4 sums = totals[i];
    sums.x += four.x;
    sums.y += four.y;
    sums.z += four.z;
    sums.w += four.w;
    totals[i] = sums;
  }
}

// A block takes 16 channels and every gridDim.x-th run of rows.
__global__ void __launch_bounds__(256) sum_errors(const __grid_constant__ BiasJob job) {
  start_kernel();
  __shared__ std::int32_t sums[kChunk];
  if (threadIdx.x < kChunk) sums[threadIdx.x] = 0;
  __syncthreads();
  std::int32_t own[kChunk] = {};
  const std::uint32_t channel = blockIdx.y * kChunk;
  const std::uint32_t pitch = job.error.chunks.divisor * kChunk;
  for (std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < job.error.rows;
       row += gridDim.x * blockDim.x) {
    ChunkBytes chunk{load_chunk(job.error.data, offset_of(pitch, {row, channel}))};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) own[i] += chunk.bytes[i];
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::int32_t sum = __reduce_add_sync(kAllLanes, own[i]);
    if (threadIdx.x % kWarp == 0) atomicAdd(&sums[i], sum);
  }
  __syncthreads();
  if (threadIdx.x < kChunk && channel + threadIdx.x < job.error.channels)
    atomic_add(reinterpret_cast<std::uint64_t*>(job.sums + channel + threadIdx.x),
               static_cast<std::uint64_t>(std::int64_t{sums[threadIdx.x]}));
}

__global__ void __launch_bounds__(256) sum_grouped(const __grid_constant__ GroupedGradientJob job) {
  start_kernel();
  const std::uint32_t input_pitch = job.input.chunks.divisor * kChunk;
  const std::uint32_t error_pitch = job.error.chunks.divisor * kChunk;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.elements;
       i += gridDim.x * blockDim.x) {
    const std::uint32_t pair = job.in.quotient(i);
    const std::uint32_t out = job.taps.quotient(pair);
    const std::uint32_t tap = job.taps.remainder(pair, out);
    const std::uint32_t channel =
        job.outs.quotient(out) * job.in.divisor + job.in.remainder(i, pair);
    std::int64_t sum = 0;
    for (std::uint32_t row = blockIdx.y; row < job.error.rows; row += gridDim.y) {
      const std::uint32_t image = job.error.pixels.quotient(row);
      const std::uint32_t pixel = job.error.pixels.remainder(row, image);
      const std::int32_t source = job.table.sources[pixel * job.table.taps + tap];
      if (source < 0) continue;
      const std::uint32_t from =
          image * job.input.pixels.divisor + static_cast<std::uint32_t>(source);
      sum += std::int64_t{job.error.data[std::size_t{row} * error_pitch + out]} *
             job.input.data[std::size_t{from} * input_pitch + channel];
    }
    if (job.is_wide != 0) {
      atomic_add(static_cast<std::uint64_t*>(job.sums) + i, static_cast<std::uint64_t>(sum));
    } else {
      atomicAdd(static_cast<std::int32_t*>(job.sums) + i, static_cast<std::int32_t>(sum));
    }
  }
}

// A block turns 64 images by 64 channels of four pixels at a time: each thread four images by 16
// channels, in registers by fours, then through shared memory into lines of 64 images.
constexpr std::uint32_t kTurned = 64;
constexpr std::uint32_t kTurnedPixels = 4;
constexpr std::uint32_t kTurnedPitch = kTurned / 4 + 4;  // words

// Byte i of word k becomes byte k of word i.
__device__ __forceinline__ void turn_words(std::uint32_t (&words)[4]) {
  const std::uint32_t even = __byte_perm(words[0], words[1], 0x5140);
  const std::uint32_t odd = __byte_perm(words[0], words[1], 0x7362);
  const std::uint32_t even2 = __byte_perm(words[2], words[3], 0x5140);
  const std::uint32_t odd2 = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(even, even2, 0x5410);
  words[1] = __byte_perm(even, even2, 0x7632);
  words[2] = __byte_perm(odd, odd2, 0x5410);
  words[3] = __byte_perm(odd, odd2, 0x7632);
}

__global__ void __launch_bounds__(256) turn(const __grid_constant__ TurnJob job) {
  start_kernel();
  __shared__ __align__(16) std::uint32_t tile[kTurnedPixels][kTurned][kTurnedPitch];
  const std::uint32_t from_pitch = job.from.chunks.divisor * kChunk;
  const std::uint32_t pixels = job.from.pixels.divisor;
  const std::uint32_t image_tile = job.channel_tiles.quotient(blockIdx.y);
  const std::uint32_t first_channel = job.channel_tiles.remainder(blockIdx.y, image_tile) * kTurned;
  const std::uint32_t first_image = image_tile * kTurned;
  const std::uint32_t four = threadIdx.x % 16;       // of images
  const std::uint32_t part = threadIdx.x / 16 % 4;   // of channels
  const std::uint32_t own_pixel = threadIdx.x / 64;  // of four
  for (std::uint32_t first = blockIdx.x * kTurnedPixels; first < pixels;
       first += gridDim.x * kTurnedPixels) {
    const std::uint32_t pixel = first + own_pixel;
    const std::uint32_t channel = first_channel + part * kChunk;
    ChunkBytes chunk[4] = {};
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t image = first_image + four * 4 + i;
      if (image < job.images && channel < from_pitch && pixel < pixels)
        chunk[i].words =
            load_chunk(job.from.data, offset_of(from_pitch, {image * pixels + pixel, channel}));
    }
    __syncthreads();
#pragma unroll
    for (std::uint32_t w = 0; w < 4; ++w) {
      std::uint32_t words[4] = {chunk[0].word[w], chunk[1].word[w], chunk[2].word[w],
                                chunk[3].word[w]};
      turn_words(words);
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
        tile[own_pixel][part * kChunk + w * 4 + i][four] = words[i];
    }
    __syncthreads();
    const std::uint32_t line = threadIdx.x / 4;
    const std::uint32_t images = threadIdx.x % 4 * kChunk;
    if (first_channel + line >= job.from.channels || first_image + images >= job.pitch) continue;
#pragma unroll
    for (std::uint32_t i = 0; i < kTurnedPixels; ++i) {
      if (first + i >= pixels) continue;
      store_chunk(job.to,
                  (std::size_t{first_channel + line} * pixels + first + i) * job.pitch +
                      first_image + images,
                  *reinterpret_cast<const uint4*>(&tile[i][line][images / 4]));
    }
  }
}

}  // namespace

void queue(DeviceQueue& queue, const EntropyJob& job) {
  queue.launch(entropy, grid_of(queue, std::uint64_t{job.answers.rows} * kWarp), job);
}
void queue(DeviceQueue& queue, const ZeroJob& job) {
  queue.launch(zero, grid_of(queue, job.words), job);
}
void queue(DeviceQueue& queue, const ZeroListJob& job) {
  queue.launch(zero_list, {.blocks = queue.multiprocessors() * 8}, job);
}
void queue(DeviceQueue& queue, const TotalsJob& job) {
  queue.launch(add_totals, grid_of(queue, (job.elements + 3) / 4), job);
}
void queue(DeviceQueue& queue, const BiasJob& job) {
  Grid grid = grid_of(queue, job.error.rows);
  grid.planes = job.error.chunks.divisor;
  queue.launch(sum_errors, grid, job);
}
void queue(DeviceQueue& queue, const GroupedGradientJob& job) {
  Grid grid = grid_of(queue, job.elements);
  const unsigned int wanted = queue.multiprocessors() * 8 / grid.blocks;
  grid.planes = wanted < 1 ? 1 : (wanted < job.error.rows ? wanted : (job.error.rows | 1u));
  queue.launch(sum_grouped, grid, job);
}
void queue(DeviceQueue& queue, const TurnJob& job) {
  const std::uint32_t channel_tiles = (job.from.pitch() + kTurned - 1) / kTurned;
  const std::uint32_t image_tiles = (job.pitch + kTurned - 1) / kTurned;
  const std::uint32_t pixels = (job.from.pixels.divisor + kTurnedPixels - 1) / kTurnedPixels;
  const Grid grid{.blocks = pixels < 512 ? pixels : 512,
                  .threads = 256,
                  .shared_bytes = 0,
                  .planes = channel_tiles * image_tiles};
  TurnJob own = job;
  own.channel_tiles = Divisor::of(channel_tiles);
  queue.launch(turn, grid, own);
}

}  // namespace nibble::cuda
