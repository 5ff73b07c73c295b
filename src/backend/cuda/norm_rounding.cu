// SPDX-License-Identifier: Apache-2.0
// Normalized values and the errors that are passed on, rounded number by number.
#include <climits>

#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/octets.cuh"
#include "backend/cuda/rounding.cuh"

namespace nibble::cuda {
namespace {

// Rounds the numbers of eight channels; each channel has a shift of its own.
template <ShiftRounding kRounding>
class OctetRounding {
 public:
  __device__ __forceinline__ OctetRounding(const RoundingSite& site, const Rows& result,
                                           std::uint32_t channel)
      : key_{site.step->seed, site.stream, site.step->step},
        before_(static_cast<std::uint64_t>(site.step->first_image) * result.pixels.divisor),
        channels_(result.channels),
        channel_(channel) {}

  __device__ __forceinline__ uint2 round(const std::int64_t (&numbers)[kOctet],
                                         const std::int32_t (&shifts)[kOctet], std::uint32_t row) {
    std::uint32_t draws[kOctet] = {};
    if constexpr (kRounding == ShiftRounding::stochastic)
      draw((before_ + row) * channels_ + channel_, draws);
    std::uint32_t words[2] = {};
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      const std::int64_t rounded = round_shift(kRounding, numbers[i], shifts[i], draws[i]);
      const std::int8_t kept = clamp127(rounded);
      saturated_ += kept != rounded ? 1 : 0;
      words[i / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(kept)) << i % 4 * 8;
    }
    return make_uint2(words[0], words[1]);
  }
  __device__ __forceinline__ std::uint32_t saturated() const {
    return saturated_;
  }

 private:
  // Two counters serve eight draws that begin with one.
  __device__ __forceinline__ void draw(std::uint64_t element,
                                       std::uint32_t (&draws)[kOctet]) const {
    if (element % 4 == 0) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const PhiloxBlock four = philox::block_of(key_, element / 4 + k);
#pragma unroll
        for (int i = 0; i < 4; ++i) draws[k * 4 + i] = four[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kOctet; ++i) draws[i] = draw_of(key_, element + i);
    }
  }

  RandomKey key_;
  std::uint64_t before_;
  std::uint32_t channels_;
  std::uint32_t channel_;
  std::uint32_t saturated_ = 0;
};

// To the count of results that were cut, from all threads of a block.
__device__ void count_saturated(std::uint32_t own, std::uint64_t* to) {
  const BlockTotals all = block_totals(0, own);
  if (threadIdx.x == 0 && all.sum > 0) atomic_add(to, all.sum);
}
__device__ std::uint64_t* saturated_of(DevicePoint& point) {
  return reinterpret_cast<std::uint64_t*>(&point.state.saturated);
}

// body(row, loaded) for every row of a thread, while the next one is loaded already.
template <class Load, class Body>
__device__ __forceinline__ void for_each_row(const OctetPlace& at, std::uint32_t rows,
                                             const Load& load, const Body& body) {
  if (!at.is_inside || at.row >= rows) return;
  auto next = load(at.row);
  for (std::uint32_t row = at.row; row < rows; row += at.step) {
    const auto loaded = next;
    if (row + at.step < rows) next = load(row + at.step);
    body(row, loaded);
  }
}

template <class Values, ShiftRounding kRounding>
__global__ void __launch_bounds__(kOctetThreads, 3)
    normalize(const __grid_constant__ NormalizeJob job) {
  start_kernel();
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  const int exponent = job.norm.shared->value_exponent;
  std::int32_t multiplier[kOctet];
  std::int64_t addend[kOctet];
  std::int32_t shift[kOctet];
#pragma unroll
  for (int i = 0; i < kOctet; ++i) {
    const bool is_there = at.channel + i < job.result.channels;
    const NormLine line = is_there ? job.norm.channels[at.channel + i].line : NormLine{};
    multiplier[i] = static_cast<std::int32_t>(line.multiplier);
    addend[i] = line.addend;
    shift[i] = is_there ? norm_shift(exponent, line.exponent) : 0;
  }
  OctetRounding<kRounding> rounding(job.site, job.result, at.channel);
  const auto number_at = [&](std::uint32_t row) { return std::size_t{row} * pitch + at.channel; };
  for_each_row(
      at, job.result.rows,
      [&](std::uint32_t row) { return Values::load(job.values.rows.data, number_at(row)); },
      [&](std::uint32_t row, const typename Values::Loaded& loaded) {
        std::int32_t v[kOctet];
        Values::widen(loaded, v);
        std::int64_t numbers[kOctet];
#pragma unroll
        for (int i = 0; i < kOctet; ++i)
          numbers[i] = std::int64_t{multiplier[i]} * v[i] + addend[i];
        *reinterpret_cast<uint2*>(job.result.data + number_at(row)) =
            rounding.round(numbers, shift, row);
      });
  count_saturated(rounding.saturated(), saturated_of(*job.site.point));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && job.result.exponent != nullptr)
    *job.result.exponent = exponent;
}

// The exponent that the largest number of a channel asks for, over all threads of a block.
__device__ void raise_exponent(std::int32_t own, std::int32_t* to) {
  __shared__ std::int32_t most;
  if (threadIdx.x == 0) most = INT_MIN;
  __syncthreads();
  own = __reduce_max_sync(0xffffffffu, own);
  if (threadIdx.x % 32 == 0) atomicMax(&most, own);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(to, most);
}

template <class Values>
struct LoadedPair {
  typename Values::Loaded values;
  uint2 errors;
};

template <class Values, ShiftRounding kRounding>
__global__ void __launch_bounds__(kOctetThreads, 2)
    pass_error(const __grid_constant__ PassErrorJob job) {
  start_kernel();
  NormShared& shared = *job.norm.shared;
  DevicePoint& point = *job.site.point;
  const bool is_repeat = job.site.is_repeat;
  const int exponent = is_repeat ? shared.error_exponent : shared.guess;
  if (is_repeat) {
    const bool was_right = shared.error_exponent == shared.guess;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
      *job.result.exponent = exponent;
      shared.distance = exponent - *job.errors.exponent;
      point.state.misses += was_right ? 0 : 1;
      if (was_right) point.state.saturated = static_cast<std::int64_t>(point.saturated);
    }
    if (was_right) return;
  }
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  std::int32_t error[kOctet];
  std::int32_t value[kOctet];
  std::int64_t addend[kOctet];
  std::int32_t shift[kOctet];
#pragma unroll
  for (int i = 0; i < kOctet; ++i) {
    const bool is_there = at.channel + i < job.result.channels;
    const NormErrorPlane plane =
        is_there ? job.norm.channels[at.channel + i].plane : NormErrorPlane{};
    error[i] = static_cast<std::int32_t>(plane.error);
    value[i] = static_cast<std::int32_t>(plane.value);
    addend[i] = plane.addend;
    shift[i] = is_there ? max(norm_shift(exponent, plane.exponent), 0) : 0;
  }
  OctetRounding<kRounding> rounding(job.site, job.result, at.channel);
  std::uint64_t largest[kOctet] = {};
  const auto number_at = [&](std::uint32_t row) { return std::size_t{row} * pitch + at.channel; };
  for_each_row(
      at, job.result.rows,
      [&](std::uint32_t row) {
        return LoadedPair<Values>{Values::load(job.values.rows.data, number_at(row)),
                                  Bytes8::load(job.errors.data, number_at(row))};
      },
      [&](std::uint32_t row, const LoadedPair<Values>& loaded) {
        std::int32_t v[kOctet];
        std::int32_t e[kOctet];
        Values::widen(loaded.values, v);
        Bytes8::widen(loaded.errors, e);
        std::int64_t numbers[kOctet];
#pragma unroll
        for (int i = 0; i < kOctet; ++i) {
          numbers[i] = std::int64_t{value[i]} * v[i] + (std::int64_t{error[i]} * e[i] + addend[i]);
          const std::uint64_t magnitude = magnitude_of(numbers[i]);
          largest[i] = magnitude > largest[i] ? magnitude : largest[i];
        }
        *reinterpret_cast<uint2*>(job.result.data + number_at(row)) =
            rounding.round(numbers, shift, row);
      });
  if (is_repeat) return count_saturated(rounding.saturated(), saturated_of(point));
  count_saturated(rounding.saturated(), &point.saturated);
  int wanted = INT_MIN;
#pragma unroll
  for (int i = 0; i < kOctet; ++i) {
    if (at.channel + i < job.result.channels)
      wanted = max(wanted, norm_wanted_exponent(static_cast<std::int64_t>(largest[i]),
                                                job.norm.channels[at.channel + i].plane.exponent));
  }
  raise_exponent(wanted, &shared.error_exponent);
}

template <ShiftRounding kRounding>
void queue_by(DeviceQueue& queue, const Grid& grid, const NormalizeJob& job) {
  if (job.values.has_sums != 0) return queue.launch(normalize<Sums8, kRounding>, grid, job);
  queue.launch(normalize<Bytes8, kRounding>, grid, job);
}
template <ShiftRounding kRounding>
void queue_by(DeviceQueue& queue, const Grid& grid, const PassErrorJob& job) {
  if (job.values.has_sums != 0) return queue.launch(pass_error<Sums8, kRounding>, grid, job);
  queue.launch(pass_error<Bytes8, kRounding>, grid, job);
}

template <class Job>
void queue_rounding(DeviceQueue& queue, const Job& job) {
  constexpr std::uint32_t kRowsOfThread = 8;
  const Grid grid = octet_grid(queue, job.values, kRowsOfThread);
  switch (job.site.rounding) {
    case ShiftRounding::nearest:
      return queue_by<ShiftRounding::nearest>(queue, grid, job);
    case ShiftRounding::stochastic:
      return queue_by<ShiftRounding::stochastic>(queue, grid, job);
    case ShiftRounding::pseudo_stochastic:
      return queue_by<ShiftRounding::pseudo_stochastic>(queue, grid, job);
  }
}

}  // namespace

void queue(DeviceQueue& queue, const NormalizeJob& job) {
  queue_rounding(queue, job);
}
void queue(DeviceQueue& queue, const PassErrorJob& job) {
  queue_rounding(queue, job);
}

}  // namespace nibble::cuda
