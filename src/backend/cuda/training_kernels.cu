// SPDX-License-Identifier: Apache-2.0
// Losses, sums of errors, and values turned for gradients.
#include <vector>

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/job_list.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/training_kernels.h"
#include "backend/cuda/turned.cuh"
#include "backend/loss_laws.h"
#include "core/philox_draws.h"
#include "cuda/before_ampere.cuh"

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
        const std::int64_t difference = cross_entropy_difference(
            share_of(law.number(answers[c], top), sum, kProbabilityBits), total, classes,
            static_cast<std::int32_t>(c) == job.labels[image], job.smoothing);
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

__global__ void __launch_bounds__(256) turn(const __grid_constant__ JobList<TurnJob> list) {
  start_kernel();
  const JobShare share = own_share(list);
  const TurnJob& job = list.jobs[share.job];
  turn_pictures(
      job, share.block,
      [&](const ChunkPlace& at, std::uint32_t count, ChunkBytes(&chunks)[4]) {
        const std::uint32_t pitch = job.from.chunks.divisor * kChunk;
#pragma unroll
        for (std::uint32_t i = 0; i < 4; ++i) {
          const ChunkPlace there{at.row + i * job.from.pixels.divisor, at.channel};
          if (i < count) chunks[i].words = load_chunk(job.from.data, offset_of(pitch, there));
        }
      },
      [](std::uint32_t i) { return i; });
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
TurnJob cut(TurnJob job) {
  constexpr std::uint32_t kMostPixelBlocks = 512;
  const std::uint32_t pixels = (job.from.pixels.divisor + kTurnedPixels - 1) / kTurnedPixels;
  job.channel_tiles = Divisor::of((job.from.pitch() + kTurnedChannels - 1) / kTurnedChannels);
  job.pixel_blocks = Divisor::of(pixels < kMostPixelBlocks ? pixels : kMostPixelBlocks);
  return job;
}
std::uint32_t blocks_of(const TurnJob& job) {
  return job.pixel_blocks.divisor * job.channel_tiles.divisor *
         ((job.pitch + kTurnedImages - 1) / kTurnedImages);
}
void queue(DeviceQueue& queue, std::span<const TurnJob> jobs) {
  std::vector<TurnJob> own(jobs.begin(), jobs.end());
  for (TurnJob& each : own) each = cut(each);
  for_each_list<TurnJob>(
      own, [](const TurnJob& job) { return blocks_of(job); },
      [&](const JobList<TurnJob>& list, std::uint32_t blocks) {
        queue.launch(turn, {.blocks = blocks}, list);
      });
}

}  // namespace nibble::cuda
