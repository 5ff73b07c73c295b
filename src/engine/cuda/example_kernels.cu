// SPDX-License-Identifier: Apache-2.0
// Lays examples out, and gathers answers.
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
  queue.launch(load_examples, grid_of(queue, job.order.count), job);
}
void queue(DeviceQueue& queue, const StoreJob& job) {
  queue.launch(store_examples, grid_of(queue, job.order.count), job);
}

}  // namespace nibble::cuda
