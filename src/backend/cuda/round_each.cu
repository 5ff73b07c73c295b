// SPDX-License-Identifier: Apache-2.0
// Rounds sums that are made number by number.
#include <algorithm>

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/chunks.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/round_sources.h"
#include "backend/cuda/rounding.cuh"
#include "backend/loss_laws.h"
#include "laws/batch_norm.h"
#include "laws/block_exponent.h"
#include "laws/integer_laws.h"

namespace nibble::cuda {
namespace {

using ChunkSums = std::int64_t[kChunk];

__device__ CommonExponent common_of(const AddedRows& rows) {
  return common_exponent(rows.count, [&](std::size_t i) { return *rows.operands[i].exponent; });
}

__device__ SumScale scale_of(int input_exponent, const AddedBias& bias) {
  const int product = input_exponent + *bias.weight_exponent;
  return bias.mantissas == nullptr ? SumScale{product, 0, 0}
                                   : product_scale(product, *bias.exponent);
}

__device__ std::int64_t with_bias(std::int64_t sum, const SumScale& scale, const AddedBias& bias,
                                  std::uint32_t channel) {
  if (bias.mantissas == nullptr) return sum;
  return sum * (std::int64_t{1} << scale.product_lift) +
         bias.mantissas[channel] * (std::int64_t{1} << scale.bias_lift);
}

// Each source: what all of its sums share, the exponent of that, and the sums of one chunk, zeros
// before.
__device__ CommonExponent shared_of(const AddedRows& rows) {
  return common_of(rows);
}
__device__ int exponent_of(const AddedRows&, const CommonExponent& common) {
  return common.exponent;
}
__device__ void add_sums(const AddedRows& rows, const CommonExponent& common, const Rows&,
                         const ChunkPlace& at, ChunkSums& sums) {
  for (std::uint32_t k = 0; k < rows.count; ++k) {
    const Operand& each = rows.operands[k];
    const std::int64_t factor = common.factor(*each.exponent);
    ChunkBytes chunk{load_chunk(each.data, offset_of(each.pitch, at))};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] += chunk.bytes[i] * factor;
  }
}

__device__ CommonExponent shared_of(const JoinedRows& rows) {
  return common_of(rows.of);
}
__device__ int exponent_of(const JoinedRows&, const CommonExponent& common) {
  return common.exponent;
}
__device__ void add_sums(const JoinedRows& rows, const CommonExponent& common, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  std::uint32_t k = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint32_t channel = at.channel + i;
    if (channel >= result.channels) continue;
    while (k + 1 < rows.of.count && channel >= rows.of.operands[k + 1].begin) ++k;
    const Operand& each = rows.of.operands[k];
    sums[i] = each.data[std::size_t{at.row} * each.pitch + channel - each.begin] *
              common.factor(*each.exponent);
  }
}

__device__ CommonExponent shared_of(const BiasedRows& rows) {
  return common_exponent(
      2, [&](std::size_t i) { return i == 0 ? *rows.rows.exponent : *rows.bias_exponent; });
}
__device__ int exponent_of(const BiasedRows&, const CommonExponent& common) {
  return common.exponent;
}
__device__ void add_sums(const BiasedRows& rows, const CommonExponent& common, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  const std::int64_t factor = common.factor(*rows.rows.exponent);
  const std::int64_t bias_factor = common.factor(*rows.bias_exponent);
  ChunkBytes chunk{load_chunk(rows.rows.data, offset_of(rows.rows.pitch, at))};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (at.channel + i >= result.channels) continue;
    sums[i] = chunk.bytes[i] * factor + rows.bias[at.channel + i] * bias_factor;
  }
}

// Calls body(offset of the source's chunk, pixel of the source, tap).
template <class Body>
__device__ void for_each_source(const TapTable& table, const Operand& source,
                                std::uint32_t source_pixels, const Rows& result,
                                const ChunkPlace& at, const Body& body) {
  const std::uint32_t image = result.pixels.quotient(at.row);
  const std::uint32_t pixel = result.pixels.remainder(at.row, image);
  const std::int32_t* sources = table.sources + pixel * table.taps;
  for (std::int64_t tap = 0; tap < table.taps; ++tap) {
    const std::int32_t from = sources[tap];
    if (from < 0) continue;
    const ChunkPlace there{image * source_pixels + static_cast<std::uint32_t>(from), at.channel};
    body(offset_of(source.pitch, there), pixel, from, tap);
  }
}

struct NothingShared {};

__device__ NothingShared shared_of(const MeanRows&) {
  return {};
}
__device__ int exponent_of(const MeanRows& rows, const NothingShared&) {
  return *rows.source.exponent - kMeanBits;
}
__device__ void add_sums(const MeanRows& rows, const NothingShared&, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  for_each_source(
      rows.table, rows.source, rows.source_pixels, result, at,
      [&](std::size_t offset, std::uint32_t pixel, std::int32_t from, std::int64_t) {
        const std::int64_t factor =
            rows.factors[rows.is_forward != 0 ? static_cast<std::int32_t>(pixel) : from];
        ChunkBytes chunk{load_chunk(rows.source.data, offset)};
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sums[i] += chunk.bytes[i] * factor;
      });
}

__device__ NothingShared shared_of(const ReturnedRows&) {
  return {};
}
__device__ int exponent_of(const ReturnedRows& rows, const NothingShared&) {
  return *rows.source.exponent;
}
__device__ void add_sums(const ReturnedRows& rows, const NothingShared&, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  for_each_source(rows.table, rows.source, static_cast<std::uint32_t>(rows.source_pixels), result,
                  at, [&](std::size_t offset, std::uint32_t, std::int32_t, std::int64_t tap) {
                    ChunkBytes chunk{load_chunk(rows.source.data, offset)};
                    ChunkBytes marks{load_chunk(rows.marks, offset)};
#pragma unroll
                    for (int i = 0; i < kChunk; ++i) {
                      if (static_cast<std::uint8_t>(marks.bytes[i]) == tap)
                        sums[i] += chunk.bytes[i];
                    }
                  });
}

__device__ SquaredScale shared_of(const SquaredRows& rows) {
  return squared_scale(*rows.answers.exponent);
}
__device__ int exponent_of(const SquaredRows&, const SquaredScale& scale) {
  return scale.exponent;
}
__device__ void add_sums(const SquaredRows& rows, const SquaredScale& scale, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  ChunkBytes chunk{load_chunk(rows.answers.data, offset_of(rows.answers.pitch, at))};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (at.channel + i >= result.channels) continue;
    const std::int64_t target =
        rows.targets[std::size_t{at.row} * result.channels + at.channel + i];
    sums[i] = chunk.bytes[i] * (std::int64_t{1} << scale.answer_lift) -
              target * (std::int64_t{1} << scale.target_lift);
  }
}

__device__ SumScale shared_of(const SummedRows& rows) {
  return scale_of(*rows.input_exponent, rows.bias);
}
__device__ int exponent_of(const SummedRows&, const SumScale& scale) {
  return scale.exponent;
}
__device__ void add_sums(const SummedRows& rows, const SumScale& scale, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  const std::size_t offset = offset_of(rows.pitch, at);
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (at.channel + i >= result.channels) continue;
    const std::int64_t sum = rows.is_wide != 0
                                 ? static_cast<const std::int64_t*>(rows.sums)[offset + i]
                                 : static_cast<const std::int32_t*>(rows.sums)[offset + i];
    sums[i] = with_bias(sum, scale, rows.bias, at.channel + i);
  }
}

__device__ SumScale shared_of(const GroupedRows& rows) {
  return scale_of(*rows.source.exponent, rows.bias);
}
__device__ int exponent_of(const GroupedRows&, const SumScale& scale) {
  return scale.exponent;
}
__device__ void add_sums(const GroupedRows& rows, const SumScale& scale, const Rows& result,
                         const ChunkPlace& at, ChunkSums& sums) {
  const ChunkPlace first{at.row, 0};
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint32_t channel = at.channel + i;
    if (channel >= result.channels) continue;
    const std::uint32_t group = rows.group.quotient(channel);
    const std::uint32_t place = rows.group.remainder(channel, group);
    std::int64_t sum = 0;
    for_each_source(rows.table, rows.source, rows.source_pixels, result, first,
                    [&](std::size_t offset, std::uint32_t, std::int32_t, std::int64_t tap) {
                      const std::int8_t* from = rows.source.data + offset + group * rows.sources;
                      for (std::uint32_t k = 0; k < rows.sources; ++k) {
                        const std::uint32_t out =
                            rows.is_forward != 0 ? channel : group * rows.sources + k;
                        const std::uint32_t in = rows.is_forward != 0 ? k : place;
                        sum += std::int64_t{from[k]} *
                               rows.weight[(out * rows.table.taps + tap) * rows.in + in];
                      }
                    });
    sums[i] = with_bias(sum, scale, rows.bias, channel);
  }
}

template <class Source>
__device__ Gate gate_at(const RoundEach<Source>& job, std::size_t offset) {
  if (job.passed == nullptr) return Gate::open(job.rectified_exponent != nullptr);
  return Gate::where_positive(load_chunk(job.passed, offset));
}

// Sums of few bytes whose units are near one another fit 32 bits.
template <class Source>
__device__ bool has_narrow_sums(const Source&) {
  return false;
}
__device__ bool has_narrow_sums(const AddedRows& rows) {
  constexpr int kMostLift = 16;
  const CommonExponent common = common_of(rows);
  bool is_narrow = true;
  for (std::uint32_t k = 0; k < rows.count; ++k)
    is_narrow = is_narrow && *rows.operands[k].exponent <= common.exponent + kMostLift;
  return is_narrow;
}
template <class Source, class Shared>
__device__ __forceinline__ void add_narrow_sums(const Source&, const Shared&, const ChunkPlace&,
                                                std::int32_t (&)[kChunk]) {}
__device__ __forceinline__ void add_narrow_sums(const AddedRows& rows, const CommonExponent& common,
                                                const ChunkPlace& at,
                                                std::int32_t (&sums)[kChunk]) {
#pragma unroll 2
  for (std::uint32_t k = 0; k < rows.count; ++k) {
    const Operand& each = rows.operands[k];
    const auto factor = static_cast<std::int32_t>(common.factor(*each.exponent));
    const ChunkBytes chunk{load_chunk(each.data, offset_of(each.pitch, at))};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] += chunk.bytes[i] * factor;
  }
}

template <class Source>
__global__ void __launch_bounds__(256) round_each(const __grid_constant__ RoundEach<Source> job) {
  start_kernel();
  RoundingPass pass(job.site);
  if (!pass.is_needed()) return;
  const auto shared = shared_of(job.source);
  const bool is_narrow = has_narrow_sums(job.source);
  const std::uint64_t before =
      static_cast<std::uint64_t>(job.site.step->first_image) * job.result.pixels.divisor;
  for_each_chunk(job.result, [&](const ChunkPlace& at) {
    const std::uint64_t element = (before + at.row) * job.result.channels + at.channel;
    const std::size_t offset = offset_of(job.result.chunks.divisor * kChunk, at);
    const Gate gate = gate_at(job, offset);
    if (is_narrow) {
      std::int32_t sums[kChunk] = {};
      add_narrow_sums(job.source, shared, at, sums);
      const std::uint32_t count = min(job.result.channels - at.channel, std::uint32_t{kChunk});
      return pass.round_chunk(sums, element, count, job.result.data, offset, gate);
    }
    ChunkSums sums{};
    add_sums(job.source, shared, job.result, at, sums);
    ChunkBytes rounded{};
    const ChunkDraws draws(job.site, element);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (at.channel + i < job.result.channels)
        rounded.bytes[i] = pass.round(sums[i], draws.draw[i]);
    }
    store_chunk(job.result.data, offset, gate(rounded.words));
  });
  pass.end(exponent_of(job.source, shared), job.result.exponent, job.rectified_exponent);
}

template <class Source>
__global__ void __launch_bounds__(256) norm_each(const __grid_constant__ NormEach<Source> job) {
  start_kernel();
  const auto shared = shared_of(job.source);
  for_each_chunk(job.result, [&](const ChunkPlace& at) {
    ChunkSums sums{};
    add_sums(job.source, shared, job.result, at, sums);
    ChunkBytes shifts{load_chunk(job.shifts, at.channel)};
    const std::size_t offset = offset_of(job.result.chunks.divisor * kChunk, at) * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      ChunkBytes chunk{};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = half * 8 + i * 2;
        chunk.word[i] = pair_of(norm_value(sums[k], shifts.bytes[k]),
                                norm_value(sums[k + 1], shifts.bytes[k + 1]));
      }
      store_chunk(job.result.data, offset + half * kChunk, chunk.words);
    }
  });
  if (blockIdx.x == 0 && threadIdx.x == 0) *job.result.exponent = exponent_of(job.source, shared);
}

template <class Source>
__global__ void __launch_bounds__(256) frozen_each(const __grid_constant__ FrozenEach<Source> job) {
  start_kernel();
  const auto shared = shared_of(job.source);
  for_each_chunk(job.result, [&](const ChunkPlace& at) {
    ChunkSums sums{};
    add_sums(job.source, shared, job.result, at, sums);
    ChunkBytes chunk{};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::uint32_t channel = at.channel + i;
      if (channel < job.result.channels)
        chunk.bytes[i] =
            frozen_norm_value(sums[i], job.bias[channel], job.multiplier[channel], job.shift);
    }
    store_chunk(job.result.data, offset_of(job.result.chunks.divisor * kChunk, at), chunk.words);
  });
  if (blockIdx.x == 0 && threadIdx.x == 0) *job.result.exponent = job.exponent;
}

// Few results, a chunk a thread of one block: it has seen all sums before it rounds, and nothing is
// guessed.
constexpr std::uint32_t kMostFew = 1024;  // chunks, and threads
bool is_few(const RoundEach<SummedRows>& job) {
  return !job.site.meets_ranks && job.result.rows * job.result.chunks.divisor <= kMostFew;
}

__global__ void __launch_bounds__(kMostFew)
    round_few(const __grid_constant__ RoundEach<SummedRows> job) {
  start_kernel();
  __shared__ int shift;
  const Rows& result = job.result;
  const auto shared = shared_of(job.source);
  const std::uint32_t row = result.chunks.quotient(threadIdx.x);
  const ChunkPlace at{row, result.chunks.remainder(threadIdx.x, row) * kChunk};
  const bool is_there = row < result.rows;
  ChunkSums sums{};
  if (is_there) add_sums(job.source, shared, result, at, sums);
  std::uint64_t largest = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint64_t magnitude = magnitude_of<std::int64_t>(sums[i]);
    largest = largest > magnitude ? largest : magnitude;
  }
  DevicePoint& point = *job.site.point;
  const BlockTotals all = block_totals(largest, 0);
  if (threadIdx.x == 0) {
    point.largest = all.largest;
    point.sum_exponent = exponent_of(job.source, shared);
    decide(point, job.site.step->rule, job.site.elements, false, result.exponent);
    if (point.guess == Guess::wrong) --point.state.misses;
    if (job.rectified_exponent != nullptr) *job.rectified_exponent = *result.exponent;
    shift = point.shift;
  }
  __syncthreads();
  std::uint32_t saturated = 0;
  if (is_there) {
    const std::uint64_t before =
        static_cast<std::uint64_t>(job.site.step->first_image) * result.pixels.divisor;
    const ChunkDraws draws(job.site, (before + row) * result.channels + at.channel);
    ChunkBytes rounded{};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const std::int64_t number = round_shift(job.site.rounding, sums[i], shift, draws.draw[i]);
      rounded.bytes[i] = clamp127(number);
      saturated += rounded.bytes[i] != number ? 1 : 0;
    }
    const std::size_t offset = place_in(result, at);
    store_chunk(result.data, offset, gate_at(job, offset)(rounded.words));
  }
  const BlockTotals cut = block_totals(0, saturated);
  if (threadIdx.x == 0) point.state.saturated = static_cast<std::int64_t>(cut.sum);
}

template <class Source>
void queue_rounding(DeviceQueue& queue, const RoundEach<Source>& job) {
  queue.launch(round_each<Source>, grid_of(queue, job.result), job);
}

__global__ void decide_with_ranks(const __grid_constant__ Decision decision) {
  start_kernel();
  decide(*decision.point, decision.step->rule, decision.elements, decision.has_second != 0,
         decision.exponent);
}

}  // namespace

void queue(DeviceQueue& queue, const RoundEach<AddedRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<JoinedRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<BiasedRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<MeanRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<ReturnedRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<SquaredRows>& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const RoundEach<SummedRows>& job) {
  if (!is_few(job)) return queue_rounding(queue, job);
  if (job.site.is_repeat) return;
  const std::uint32_t chunks = job.result.rows * job.result.chunks.divisor;
  queue.launch(round_few, {.blocks = 1, .threads = std::max((chunks + 31) / 32, 1u) * 32}, job);
}
void queue(DeviceQueue& queue, const RoundEach<GroupedRows>& job) {
  queue_rounding(queue, job);
}

void queue(DeviceQueue& queue, const NormEach<SummedRows>& job) {
  queue.launch(norm_each<SummedRows>, grid_of(queue, job.result), job);
}
void queue(DeviceQueue& queue, const NormEach<GroupedRows>& job) {
  queue.launch(norm_each<GroupedRows>, grid_of(queue, job.result), job);
}

void queue(DeviceQueue& queue, const FrozenEach<SummedRows>& job) {
  queue.launch(frozen_each<SummedRows>, grid_of(queue, job.result), job);
}
void queue(DeviceQueue& queue, const FrozenEach<GroupedRows>& job) {
  queue.launch(frozen_each<GroupedRows>, grid_of(queue, job.result), job);
}
void queue(DeviceQueue& queue, const FrozenEach<AddedRows>& job) {
  queue.launch(frozen_each<AddedRows>, grid_of(queue, job.result), job);
}

void queue(DeviceQueue& queue, const Decision& decision) {
  queue.launch(decide_with_ranks, {.blocks = 1, .threads = 1}, decision);
}

}  // namespace nibble::cuda
