// SPDX-License-Identifier: Apache-2.0
// Numbers where they are, and on their way.
#include "backend/cuda/finish_laws.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "engine/cuda/device_value.cuh"
#include "engine/cuda/number_jobs.h"
#include "laws/integer_division.h"

namespace nibble::cuda {
namespace {

constexpr unsigned int kVectorThreads = 32;

__device__ std::int32_t changed(const NumberJob& job, std::int32_t x, std::uint32_t channel) {
  switch (job.op) {
    case NumberOp::bias:
      return x + job.numbers[channel];
    case NumberOp::relu:
      return max(x, 0);
    case NumberOp::rescale: {
      const std::int32_t m = job.numbers[channel];
      return job.is_wide != 0 || job.shift == 0
                 ? clamped(shifted(std::int64_t{x} * m, job.shift), job.low, job.high)
                 : clamped(shifted(x * m, job.shift), job.low, job.high);
    }
    case NumberOp::table:
      return job.numbers[x - job.low];
  }
  return 0;
}

__global__ void __launch_bounds__(256) change_numbers(const __grid_constant__ NumberJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::uint32_t channel = at.chunk * kChunk;
    ChunkNumbers numbers = read_chunk(job.in, place_of(job.in, at.image, at.y, at.x) + channel);
#pragma unroll
    for (std::uint32_t i = 0; i < kChunk; ++i) {  // what fills up is no index of a table
      numbers.at[i] = channel + i < job.in.channels ? changed(job, numbers.at[i], channel + i) : 0;
    }
    write_chunk(job.out, place_of(job.out, at.image, at.y, at.x) + channel, numbers);
  });
}

template <int kMost>
__global__ void __launch_bounds__(256) add_values(const __grid_constant__ AddJob<kMost> job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    std::uint32_t sums[kChunk] = {};
    for (std::uint32_t k = 0; k < job.count; ++k) {
      const ChunkNumbers other =
          read_chunk(job.in[k], place_of(job.in[k], at.image, at.y, at.x) + at.chunk * kChunk);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sums[i] += static_cast<std::uint32_t>(other.at[i]);
    }
    ChunkNumbers results;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) results.at[i] = static_cast<std::int32_t>(sums[i]);
    write_chunk(job.out, place_of(job.out, at.image, at.y, at.x) + at.chunk * kChunk, results);
  });
}

__device__ __forceinline__ std::int32_t rescaled(const ScalarRescale& law, std::int32_t x) {
  return clamped(shifted(std::int64_t{x} * law.multiplier, law.shift), law.low, law.high);
}

// What a byte of each operand adds is looked up: one thread of a block a byte.
__global__ void __launch_bounds__(256) join_sums(const __grid_constant__ JoinedSumJob job) {
  __shared__ std::int32_t terms[2][256];
  let_next_begin();
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    terms[k][threadIdx.x] =
        rescaled(job.terms[k], static_cast<std::int8_t>(threadIdx.x) + job.in[k].base);
  }
  __syncthreads();
  wait_for_earlier();
  const bool has_words =
      job.result.multiplier >= 0 && job.result.shift > 32 && job.result.shift < 55;
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const auto operand = [&](int k) {
      return ChunkBytes{load_chunk(job.in[k].data,
                                   place_of(job.in[k], at.image, at.y, at.x) + at.chunk * kChunk)};
    };
    const ChunkBytes first = operand(0);
    const ChunkBytes second = operand(1);
    ChunkNumbers results;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::int32_t sum = terms[0][static_cast<std::uint8_t>(first.bytes[i])] +
                               terms[1][static_cast<std::uint8_t>(second.bytes[i])];
      results.at[i] =
          has_words ? clamped(shifted_by_words(sum, job.result.multiplier, job.result.shift, 0),
                              job.result.low, job.result.high)
                    : rescaled(job.result, sum);
    }
    write_chunk(job.out, place_of(job.out, at.image, at.y, at.x) + at.chunk * kChunk, results);
  });
}

__global__ void __launch_bounds__(256) move_numbers(const __grid_constant__ MoveJob job) {
  start_kernel();
  const bool moves_chunks = job.first_channel % kChunk == 0 && job.begin[2] == 0 &&
                            job.step[2] == 1 &&
                            job.end_channel - job.first_channel == job.in.channels &&
                            (job.in.channels % kChunk == 0 || job.end_channel == job.out.channels);
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::uint32_t channel = at.chunk * kChunk;
    if (channel + kChunk <= job.first_channel || channel >= job.end_channel) return;
    const std::int32_t y = job.begin[0] + at.y * job.step[0];
    const std::int32_t x = job.begin[1] + at.x * job.step[1];
    const bool is_there = has_pixel(job.in, y, x);
    const std::size_t from = is_there ? place_of(job.in, at.image, y, x) : 0;
    const std::size_t to = place_of(job.out, at.image, at.y, at.x) + channel;
    if (moves_chunks) {
      ChunkNumbers numbers{};
      if (is_there) numbers = read_chunk(job.in, from + channel - job.first_channel);
      return write_chunk(job.out, to, numbers);
    }
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      if (channel + i < job.first_channel || channel + i >= job.end_channel) continue;
      const std::int32_t c =
          job.begin[2] + static_cast<std::int32_t>(channel + i - job.first_channel) * job.step[2];
      const bool is_inside = is_there && c >= 0 && c < static_cast<std::int32_t>(job.in.channels);
      set_number(job.out, to + i, is_inside ? number_at(job.in, from + c) : 0);
    }
  });
}

__global__ void __launch_bounds__(256) flatten(const __grid_constant__ FlattenJob job) {
  start_kernel();
  for_each_value_chunk(job.order, [&](const ValueChunk& at) {
    const std::size_t to = place_of(job.out, at.image, 0, 0);
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      const std::uint32_t feature = at.chunk * kChunk + i;
      if (feature >= job.out.channels) return;
      const std::uint32_t pixel = job.channels.quotient(feature);
      const std::uint32_t y = job.width.quotient(pixel);
      const std::size_t from = place_of(job.in, at.image, static_cast<std::int32_t>(y),
                                        static_cast<std::int32_t>(job.width.remainder(pixel, y)));
      set_number(job.out, to + feature,
                 number_at(job.in, from + job.channels.remainder(feature, pixel)));
    }
  });
}

// One thread a vector: these are the ends of networks.
__global__ void __launch_bounds__(kVectorThreads) judge(const __grid_constant__ VectorJob job) {
  start_kernel();
  for (std::uint32_t image = blockIdx.x * blockDim.x + threadIdx.x; image < job.images;
       image += gridDim.x * blockDim.x) {
    const std::size_t from = place_of(job.in, image, 0, 0);
    const std::size_t to = place_of(job.out, image, 0, 0);
    std::uint32_t best = 0;
    std::int32_t most = number_at(job.in, from);
    for (std::uint32_t c = 1; c < job.in.channels; ++c) {
      const std::int32_t x = number_at(job.in, from + c);
      if (x <= most) continue;
      most = x;
      best = c;
    }
    if (job.table == nullptr) {
      set_number(job.out, to, static_cast<std::int32_t>(best));
      continue;
    }
    const auto entry = [&](std::uint32_t c) {
      const std::int64_t distance = std::int64_t{most} - number_at(job.in, from + c);
      return job.table[distance < 255 ? distance : 255];
    };
    std::int64_t sum = 0;
    for (std::uint32_t c = 0; c < job.in.channels; ++c) sum += entry(c);
    for (std::uint32_t c = 0; c < job.in.channels; ++c) {
      set_number(
          job.out, to + c,
          static_cast<std::int32_t>(quotient_of(2 * job.high * entry(c) + sum, 2 * sum, job.bits)));
    }
  }
}

__global__ void __launch_bounds__(256) fill_borders(const __grid_constant__ BorderJob job) {
  start_kernel();
  const std::uint32_t width = job.value.chunks * kChunk;
  const auto height = static_cast<std::int32_t>(job.value.height);
  for (std::uint32_t image = blockIdx.x; image < job.images; image += gridDim.x) {
    for (std::uint32_t c = threadIdx.x; c < width; c += blockDim.x)
      set_number(job.value, place_of(job.value, image, height, 0) + c, 0);
  }
}

template <class Job>
void queue_numbers(DeviceQueue& queue, void (*kernel)(Job), const Job& job) {
  queue.launch(kernel, grid_of(queue, job.order.count), job);
}

}  // namespace

void queue(DeviceQueue& queue, const NumberJob& job) {
  queue_numbers(queue, change_numbers, job);
}
void queue(DeviceQueue& queue, const AddJob<kFewAddends>& job) {
  queue_numbers(queue, add_values<kFewAddends>, job);
}
void queue(DeviceQueue& queue, const AddJob<kMostAddends>& job) {
  queue_numbers(queue, add_values<kMostAddends>, job);
}
void queue(DeviceQueue& queue, const JoinedSumJob& job) {
  queue_numbers(queue, join_sums, job);
}
void queue(DeviceQueue& queue, const MoveJob& job) {
  queue_numbers(queue, move_numbers, job);
}
void queue(DeviceQueue& queue, const FlattenJob& job) {
  queue_numbers(queue, flatten, job);
}
void queue(DeviceQueue& queue, const VectorJob& job) {
  queue.launch(
      judge,
      {.blocks = (job.images + kVectorThreads - 1) / kVectorThreads, .threads = kVectorThreads},
      job);
}
void queue(DeviceQueue& queue, const BorderJob& job) {
  queue.launch(fill_borders, {.blocks = job.images, .threads = 64}, job);
}

}  // namespace nibble::cuda
