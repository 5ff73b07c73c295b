// SPDX-License-Identifier: Apache-2.0
// Updates by the rule "sgd": numbers move, then the exponent of the tensor may, and mantissas
// are made of what they then are.
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/update_parts.cuh"
#include "backend/sgd_law.h"
#include "core/philox_draws.h"
#include "laws/batch_norm.h"

namespace nibble::cuda {
namespace {

__device__ SgdUpdate rule_of(const UpdateJob& job) {
  SgdUpdate rule = job.step->sgd;
  if (job.norm != NormPart::none) rule.fraction_bits = kNormFractionBits;
  return rule;
}

__device__ int exponent_of(const SumExponent& sums) {
  int exponent = static_cast<int>(sums.added);
  for (const std::int32_t* each : sums.factors) exponent += each != nullptr ? *each : 0;
  return exponent;
}

__device__ SgdStep step_of(const UpdateJob& job) {
  const SgdUpdate rule = rule_of(job);
  return sgd_step_of(rule, exponent_of(job.sum_exponent), *job.exponent,
                     decays(rule, job.is_bias, job.norm), job.rounding);
}

// Four numbers that take their step together, for one counter has four draws.
struct FourNumbers {
  FineNumber number[4];
};
__device__ FourNumbers numbers_at(const UpdateJob& job, std::uint32_t first) {
  const int4 fine = reinterpret_cast<const int4*>(job.fine)[first / 4];
  const int4 momentum = reinterpret_cast<const int4*>(job.momentum)[first / 4];
  return {{{fine.x, momentum.x}, {fine.y, momentum.y}, {fine.z, momentum.z}, {fine.w, momentum.w}}};
}
__device__ void store_numbers(const UpdateJob& job, std::uint32_t first, const FourNumbers& four) {
  reinterpret_cast<int4*>(job.fine)[first / 4] =
      make_int4(four.number[0].fine, four.number[1].fine, four.number[2].fine, four.number[3].fine);
  reinterpret_cast<int4*>(job.momentum)[first / 4] =
      make_int4(four.number[0].momentum, four.number[1].momentum, four.number[2].momentum,
                four.number[3].momentum);
}
__device__ void move_numbers(const UpdateJob& job, const SgdStep& step, std::uint32_t first,
                             FourNumbers& four) {
  const FourGradients gradients = gradients_at(job, first);
  PhiloxBlock draws{};
  if (job.rounding == ShiftRounding::stochastic)
    draws = philox::block_of({job.step->seed, job.stream, job.step->step}, first / 4);
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (first + k < job.elements) step.move(four.number[k], gradients.number[k], draws[k]);
  }
}

// Returns how many of four mantissas changed.
__device__ std::uint32_t store_mantissas(const UpdateJob& job, int fraction_bits,
                                         std::uint32_t first, const FourNumbers& four) {
  char4& place = reinterpret_cast<char4*>(job.mantissas)[first / 4];
  const char4 old = place;
  const std::int8_t before[4] = {old.x, old.y, old.z, old.w};
  std::int8_t after[4] = {};
  std::uint32_t moved = 0;
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (first + k >= job.elements) continue;
    after[k] = clamp127(shift_nearest(four.number[k].fine, fraction_bits));
    if (after[k] == before[k]) continue;
    ++moved;
    fill_up(job.filled, first + k, after[k]);
  }
  place = make_char4(after[0], after[1], after[2], after[3]);
  return moved;
}

// Tensors whose exponent never moves: biases, and what scales and shifts a batch norm.
__device__ void move_fixed(const JobShare& share, const UpdateJob& job) {
  const SgdStep step = step_of(job);
  const ExponentMove move{.halvings = 0, .fraction_bits = rule_of(job).fraction_bits};
  std::uint32_t moved = 0;
  for_each_four(share, job.elements, [&](std::uint32_t first) {
    const FourNumbers before = numbers_at(job, first);
    FourNumbers four = before;
    move_numbers(job, step, first, four);
#pragma unroll
    for (FineNumber& each : four.number) move.settle(each);
    moved += store_mantissas(job, move.fraction_bits, first, four);
    if (job.norm == NormPart::scale) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        four.number[k].fine = held_norm_scale(four.number[k].fine, before.number[k].fine);
    }
    store_numbers(job, first, four);
  });
  end_update(share, *job.record, moved, step.shift);
}

// The last block decides how the exponent moves.
__device__ void move_fine(const JobShare& share, const UpdateJob& job) {
  const SgdStep step = step_of(job);
  std::uint64_t largest = 0;
  for_each_four(share, job.elements, [&](std::uint32_t first) {
    FourNumbers four = numbers_at(job, first);
    move_numbers(job, step, first, four);
#pragma unroll
    for (std::uint32_t k = 0; k < 4; ++k) {
      if (first + k >= job.elements) continue;
      const std::uint64_t magnitude = magnitude_of(four.number[k].fine);
      largest = magnitude > largest ? magnitude : largest;
    }
    store_numbers(job, first, four);
  });
  DeviceUpdate& record = *job.record;
  const BlockTotals all = block_totals(largest, 0);
  if (threadIdx.x != 0) return;
  if (all.largest > 0) atomic_max(&record.largest, all.largest);
  if (!is_last_block(&record.blocks_done, share.blocks)) return;
  const ExponentMove move = ExponentMove::of(static_cast<std::int64_t>(record.largest),
                                             job.step->sgd.fraction_bits, *job.exponent);
  record.shift = step.shift;
  record.halvings = move.halvings;
  record.blocks_done = 0;
  *job.exponent += move.halvings;
}

using Updates = JobList<UpdateJob>;

__global__ void __launch_bounds__(256) move_all(const __grid_constant__ Updates list) {
  start_kernel();
  const JobShare share = own_share(list);
  const UpdateJob& job = list.jobs[share.job];
  if (job.is_bias) return move_fixed(share, job);
  move_fine(share, job);
}

__global__ void __launch_bounds__(256) settle_fine(const __grid_constant__ Updates list) {
  start_kernel();
  const JobShare share = own_share(list);
  const UpdateJob& job = list.jobs[share.job];
  if (job.is_bias) return;
  const int fraction_bits = job.step->sgd.fraction_bits;
  const int shift = job.record->shift;
  const ExponentMove move{.halvings = job.record->halvings, .fraction_bits = fraction_bits};
  const bool is_settled = move.halvings == 0 && job.record->largest <= std::uint64_t{127}
                                                                           << fraction_bits;
  std::uint32_t moved = 0;
  for_each_four(share, job.elements, [&](std::uint32_t first) {
    FourNumbers four = numbers_at(job, first);
    if (!is_settled) {
#pragma unroll
      for (FineNumber& each : four.number) move.settle(each);
      store_numbers(job, first, four);
    }
    moved += store_mantissas(job, fraction_bits, first, four);
  });
  end_update(share, *job.record, moved, shift);
}

}  // namespace

void queue(DeviceQueue& queue, std::span<const UpdateJob> jobs, const SgdUpdate&) {
  queue_updates(queue, jobs, move_all, settle_fine);
}

}  // namespace nibble::cuda
