// SPDX-License-Identifier: Apache-2.0
// Updates of weights by their gradients by the rule "shift", and weights filled up for products.
#include "backend/cuda/chunk_rules.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/update_parts.cuh"
#include "backend/update_law.h"
#include "laws/integer_laws.h"

namespace nibble::cuda {
namespace {

template <class NumberAt>
__device__ void find_most(const JobShare& share, const UpdateJob& job, std::uint64_t* to,
                          const NumberAt& number_at) {
  std::uint64_t largest = 0;
  for_each_four(share, job.elements, [&](std::uint32_t i) {
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

using Updates = JobList<UpdateJob>;

__global__ void __launch_bounds__(256) find_largest(const __grid_constant__ Updates list) {
  start_kernel();
  const JobShare share = own_share(list);
  const UpdateJob& job = list.jobs[share.job];
  find_most(share, job, &job.record->largest,
            [](std::int64_t gradient, std::uint32_t) { return gradient; });
}

__global__ void __launch_bounds__(256) find_decayed(const __grid_constant__ Updates list) {
  start_kernel();
  const JobShare share = own_share(list);
  const UpdateJob& job = list.jobs[share.job];
  if (job.is_bias) return;
  const int bits = bits_of(job.record->largest);
  find_most(share, job, &job.record->decayed, [&](std::int64_t gradient, std::uint32_t i) {
    return gradient + decay_of(job.mantissas[i], bits);
  });
}

__global__ void __launch_bounds__(256) move_weights(const __grid_constant__ Updates list) {
  start_kernel();
  const JobShare share = own_share(list);
  const UpdateJob& job = list.jobs[share.job];
  const DeviceStep& step = *job.step;
  const ShiftUpdate rule = step.shift;
  DeviceUpdate& record = *job.record;
  const int gradient_bits = bits_of(record.largest);
  const bool decays = rule.has_decay && !job.is_bias && gradient_bits > 0;
  const int bits = decays ? bits_of(record.decayed) : gradient_bits;
  const UpdateLaw law{.shift = bits - (job.is_bias ? rule.bias_mu : rule.mu) - rule.fraction_bits,
                      .fraction_bits = rule.fraction_bits,
                      .momentum = rule.momentum,
                      .rounding = job.rounding};
  const bool is_narrow = law.is_narrow(bits);
  const RandomKey key{step.seed, job.stream, step.step};
  std::uint32_t moved = 0;
  if (bits != 0 || rule.momentum != 0) {
    for_each_four(share, job.elements, [&](std::uint32_t first) {
      const FourGradients four = gradients_at(job, first);
      char4& place = reinterpret_cast<char4*>(job.mantissas)[first / 4];
      const char4 mantissas = place;
      const std::int8_t before[4] = {mantissas.x, mantissas.y, mantissas.z, mantissas.w};
      std::int8_t after[4] = {};
#pragma unroll
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t i = first + k;
        if (i >= job.elements) continue;
        WeightNumbers numbers{before[k], rule.fraction_bits > 0 ? job.fine[i] : 0,
                              rule.momentum > 0 ? job.momentum[i] : 0};
        const std::int64_t decay = decays ? decay_of(before[k], gradient_bits) : 0;
        const std::uint32_t draw = job.rounding == ShiftRounding::stochastic ? draw_of(key, i) : 0;
        const std::int64_t gradient = bits == 0 ? 0 : four.number[k] + decay;
        if (is_narrow) {
          law.move<std::int32_t>(numbers, static_cast<std::int32_t>(gradient), draw);
        } else {
          law.move(numbers, gradient, draw);
        }
        if (rule.fraction_bits > 0) job.fine[i] = numbers.fine;
        if (rule.momentum > 0) job.momentum[i] = numbers.momentum;
        after[k] = numbers.mantissa;
        if (after[k] == before[k]) continue;
        ++moved;
        fill_up(job.filled, i, after[k]);
      }
      place = make_char4(after[0], after[1], after[2], after[3]);
    });
  }
  end_update(share, record, moved, law.shift);
}

__global__ void __launch_bounds__(256) fill_up_all(const __grid_constant__ FillUpJob job) {
  start_kernel();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < job.elements;
       i += gridDim.x * blockDim.x)
    fill_up(job.filled, i, job.mantissas[i]);
}

}  // namespace

void queue(DeviceQueue& queue, std::span<const UpdateJob> jobs, const ShiftUpdate& rule) {
  if (rule.has_decay) return queue_updates(queue, jobs, find_largest, find_decayed, move_weights);
  queue_updates(queue, jobs, find_largest, move_weights);
}

void queue(DeviceQueue& queue, const FillUpJob& job) {
  queue.launch(fill_up_all, grid_of(queue, job.elements), job);
}

}  // namespace nibble::cuda
