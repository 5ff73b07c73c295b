// SPDX-License-Identifier: Apache-2.0
// One update of a weight by its gradient, and weights packed for products.
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/rounding.cuh"
#include "backend/cuda/training_kernels.h"
#include "backend/update_law.h"

namespace nibble::cuda {
namespace {

__device__ std::int64_t gradient_at(const UpdateJob& job, std::uint32_t i) {
  return job.is_wide ? static_cast<const std::int64_t*>(job.sums)[i]
                     : static_cast<const std::int32_t*>(job.sums)[i];
}

__device__ void pack(const PackedPlaces& packed, std::uint32_t i, std::int8_t mantissa) {
  if (packed.ahead == nullptr) return;
  const std::uint32_t pair = packed.in.quotient(i);
  const std::uint32_t in = packed.in.remainder(i, pair);
  const std::uint32_t out = packed.taps.quotient(pair);
  const std::uint32_t tap = packed.taps.remainder(pair, out);
  packed.ahead[std::size_t{pair} * packed.in_pitch + in] = mantissa;
  packed.back[(std::size_t{in} * packed.taps.divisor + tap) * packed.out_pitch + out] = mantissa;
}

template <class Body>
__device__ void for_each_weight(std::uint32_t count, const Body& body) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x)
    body(i);
}

__global__ void __launch_bounds__(256) find_largest(const __grid_constant__ UpdateJob job) {
  std::uint64_t largest = 0;
  for_each_weight(job.elements, [&](std::uint32_t i) {
    const std::uint64_t magnitude = magnitude_of(gradient_at(job, i));
    largest = magnitude > largest ? magnitude : largest;
  });
  const BlockTotals all = block_totals(largest, 0);
  if (threadIdx.x == 0 && all.largest > 0) atomic_max(&job.record->largest, all.largest);
}

__global__ void __launch_bounds__(256) find_decayed(const __grid_constant__ UpdateJob job) {
  const int bits = bits_of(job.record->largest);
  std::uint64_t largest = 0;
  for_each_weight(job.elements, [&](std::uint32_t i) {
    const std::uint64_t magnitude =
        magnitude_of(gradient_at(job, i) + decay_of(job.mantissas[i], bits));
    largest = magnitude > largest ? magnitude : largest;
  });
  const BlockTotals all = block_totals(largest, 0);
  if (threadIdx.x == 0 && all.largest > 0) atomic_max(&job.record->decayed, all.largest);
}

__global__ void __launch_bounds__(256) move_weights(const __grid_constant__ UpdateJob job) {
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
    for_each_weight(job.elements, [&](std::uint32_t i) {
      WeightNumbers numbers{job.mantissas[i], step.fraction_bits > 0 ? job.fine[i] : 0,
                            step.momentum > 0 ? job.momentum[i] : 0};
      const std::int8_t before = numbers.mantissa;
      const std::int64_t decay = decays ? decay_of(before, gradient_bits) : 0;
      const std::int64_t gradient = bits == 0 ? 0 : gradient_at(job, i) + decay;
      const std::uint32_t draw =
          job.rounding == ShiftRounding::stochastic ? philox::draw32(key, i) : 0;
      law.move(numbers, gradient, draw);
      if (step.fraction_bits > 0) job.fine[i] = numbers.fine;
      if (step.momentum > 0) job.momentum[i] = numbers.momentum;
      if (numbers.mantissa == before) return;
      ++moved;
      job.mantissas[i] = numbers.mantissa;
      pack(job.packed, i, numbers.mantissa);
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

__global__ void __launch_bounds__(256) pack_all(const __grid_constant__ PackJob job) {
  for_each_weight(static_cast<std::uint32_t>(job.elements),
                  [&](std::uint32_t i) { pack(job.packed, i, job.mantissas[i]); });
}

}  // namespace

void queue(DeviceQueue& queue, const UpdateJob& job, bool has_decay) {
  const Grid grid = grid_of(queue, job.elements);
  queue.launch(find_largest, grid, job);
  if (has_decay && !job.is_bias) queue.launch(find_decayed, grid, job);
  queue.launch(move_weights, grid, job);
}

void queue(DeviceQueue& queue, const PackJob& job) {
  queue.launch(pack_all, grid_of(queue, job.elements), job);
}

}  // namespace nibble::cuda
