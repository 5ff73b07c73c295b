// SPDX-License-Identifier: Apache-2.0
// One update of a weight by its gradient, and weights filled up for products.
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/rounding.cuh"
#include "backend/cuda/training_kernels.h"
#include "backend/update_law.h"

namespace nibble::cuda {
namespace {

__device__ void fill_up(const FilledUp& filled, std::uint32_t i, std::int8_t mantissa) {
  if (filled.to == nullptr) return;
  const std::uint32_t pair = filled.in.quotient(i);
  filled.to[std::size_t{pair} * filled.pitch + filled.in.remainder(i, pair)] = mantissa;
}

// Four weights at a time.
struct FourGradients {
  std::int64_t number[4];
};
__device__ FourGradients gradients_at(const UpdateJob& job, std::uint32_t i) {
  if (job.is_wide) {
    const auto* sums = reinterpret_cast<const longlong2*>(job.sums) + i / 2;
    return {sums[0].x, sums[0].y, sums[1].x, sums[1].y};
  }
  const int4 sums = reinterpret_cast<const int4*>(job.sums)[i / 4];
  return {sums.x, sums.y, sums.z, sums.w};
}

// body(first of four) for all weights: memory of sums and mantissas reaches to a multiple of four.
template <class Body>
__device__ void for_each_four(std::uint32_t count, const Body& body) {
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i < count;
       i += gridDim.x * blockDim.x * 4)
    body(i);
}

template <class NumberAt>
__device__ void find_most(const UpdateJob& job, std::uint64_t* to, const NumberAt& number_at) {
  std::uint64_t largest = 0;
  for_each_four(job.elements, [&](std::uint32_t i) {
    const FourGradients four = gradients_at(job, i);
#pragma unroll
    for (std::uint32_t k = 0; k < 4; ++k) {
      if (i + k >= job.elements) continue;
      const std::uint64_t magnitude = magnitude_of(number_at(four.number[k], i + k));
      largest = magnitude > largest ? magnitude : largest;
    }
  });
  const BlockTotals all = block_totals(largest, 0);
  if (threadIdx.x == 0 && all.largest > 0) atomic_max(to, all.largest);
}

__global__ void __launch_bounds__(256) find_largest(const __grid_constant__ UpdateJob job) {
  start_kernel();
  find_most(job, &job.record->largest,
            [](std::int64_t gradient, std::uint32_t) { return gradient; });
}

__global__ void __launch_bounds__(256) find_decayed(const __grid_constant__ UpdateJob job) {
  start_kernel();
  const int bits = bits_of(job.record->largest);
  find_most(job, &job.record->decayed, [&](std::int64_t gradient, std::uint32_t i) {
    return gradient + decay_of(job.mantissas[i], bits);
  });
}

__global__ void __launch_bounds__(256) move_weights(const __grid_constant__ UpdateJob job) {
  start_kernel();
  const DeviceStep& step = *job.step;
  DeviceUpdate& record = *job.record;
  const int gradient_bits = bits_of(record.largest);
  const bool decays = step.has_decay && !job.is_bias && gradient_bits > 0;
  const int bits = decays ? bits_of(record.decayed) : gradient_bits;
  const UpdateLaw law{.shift = bits - (job.is_bias ? step.bias_mu : step.mu) - step.fraction_bits,
                      .fraction_bits = step.fraction_bits,
                      .momentum = step.momentum,
                      .rounding = job.rounding};
  const RandomKey key{step.seed, job.stream, step.step};
  std::uint32_t moved = 0;
  if (bits != 0 || step.momentum != 0) {
    for_each_four(job.elements, [&](std::uint32_t first) {
      const FourGradients four = gradients_at(job, first);
      char4& place = reinterpret_cast<char4*>(job.mantissas)[first / 4];
      const char4 mantissas = place;
      const std::int8_t before[4] = {mantissas.x, mantissas.y, mantissas.z, mantissas.w};
      std::int8_t after[4] = {};
#pragma unroll
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t i = first + k;
        if (i >= job.elements) continue;
        WeightNumbers numbers{before[k], step.fraction_bits > 0 ? job.fine[i] : 0,
                              step.momentum > 0 ? job.momentum[i] : 0};
        const std::int64_t decay = decays ? decay_of(before[k], gradient_bits) : 0;
        const std::uint32_t draw = job.rounding == ShiftRounding::stochastic ? draw_of(key, i) : 0;
        law.move(numbers, bits == 0 ? 0 : four.number[k] + decay, draw);
        if (step.fraction_bits > 0) job.fine[i] = numbers.fine;
        if (step.momentum > 0) job.momentum[i] = numbers.momentum;
        after[k] = numbers.mantissa;
        if (after[k] == before[k]) continue;
        ++moved;
        fill_up(job.filled, i, after[k]);
      }
      place = make_char4(after[0], after[1], after[2], after[3]);
    });
  }
  const BlockTotals all = block_totals(0, moved);
  if (threadIdx.x != 0) return;
  if (all.sum > 0) atomic_add(&record.moved_so_far, all.sum);
  if (!is_last_block(&record.blocks_done)) return;
  record = {.moved = static_cast<std::int64_t>(record.moved_so_far),
            .largest = 0,
            .decayed = 0,
            .moved_so_far = 0,
            .shift = law.shift,
            .blocks_done = 0};
}

__global__ void __launch_bounds__(256) fill_up_all(const __grid_constant__ FillUpJob job) {
  start_kernel();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.elements;
       i += gridDim.x * blockDim.x)
    fill_up(job.filled, i, job.mantissas[i]);
}

}  // namespace

void queue(DeviceQueue& queue, const UpdateJob& job, bool has_decay) {
  const Grid grid = grid_of(queue, (job.elements + 3) / 4);
  queue.launch(find_largest, grid, job);
  if (has_decay && !job.is_bias) queue.launch(find_decayed, grid, job);
  queue.launch(move_weights, grid, job);
}

void queue(DeviceQueue& queue, const FillUpJob& job) {
  queue.launch(fill_up_all, grid_of(queue, job.elements), job);
}

}  // namespace nibble::cuda
