// SPDX-License-Identifier: Apache-2.0
// Exact sums of channels over a batch, and of the magnitudes of weights.
#include <bit>
#include <type_traits>

#include "backend/cuda/block_totals.cuh"
#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/norm_laws.cuh"
#include "backend/cuda/octets.cuh"

namespace nibble::cuda {
namespace {

constexpr unsigned int kAllLanes = 0xffffffffu;
constexpr int kRowsAtOnce = 4;  // loads under way
constexpr int kBlocks = 3;      // of a multiprocessor

// Eight numbers each of one row, or of kRowsAtOnce.
template <int kRows>
using OctetRows = std::int32_t[kRows][kOctet];

// Σ and ends of eight channels, as one thread has them. Before they join sums of 64 bits, 32 hold
// numbers of four rows, their squares, below 2^30 each, and their products with errors.
struct OctetSums {
  std::int64_t first[kOctet] = {};
  std::int64_t second[kOctet] = {};
  std::int32_t least[kOctet];
  std::int32_t most[kOctet];

  __device__ __forceinline__ OctetSums() {
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      least[i] = kNormEnd;
      most[i] = -kNormEnd;
    }
  }
  template <int kRows>
  __device__ __forceinline__ void add(const OctetRows<kRows>& v) {
    static_assert(kRows <= 4);
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      std::int32_t sum = 0;
      std::uint32_t squares = 0;
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        sum += v[k][i];
        squares += static_cast<std::uint32_t>(v[k][i] * v[k][i]);
        least[i] = min(least[i], v[k][i]);
        most[i] = max(most[i], v[k][i]);
      }
      first[i] += sum;
      second[i] += squares;
    }
  }
  template <int kRows>
  __device__ __forceinline__ void add(const OctetRows<kRows>& v, const OctetRows<kRows>& e) {
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      std::int32_t sum = 0;
      std::int32_t products = 0;
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        sum += e[k][i];
        products += e[k][i] * v[k][i];
      }
      first[i] += sum;
      second[i] += products;
    }
  }
};

template <class Laws>
constexpr bool is_forward = std::is_same_v<Laws, NormLinesJob>;

// The same rows of values and errors, back from the first; all of them are there.
template <class Values, int kRows, class Laws>
__device__ __forceinline__ void add_rows(const NormSumsJob<Laws>& job, std::size_t first,
                                         std::size_t step, OctetSums& sums) {
  constexpr bool kIsForward = is_forward<Laws>;
  typename Values::Loaded values[kRows];
  uint2 errors[kRows];
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    values[k] = Values::load(job.values.rows.data, first - k * step);
    if (!kIsForward) errors[k] = Bytes8::load(job.errors, first - k * step);
  }
  OctetRows<kRows> v;
  OctetRows<kRows> e;
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    Values::widen(values[k], v[k]);
    if (!kIsForward) Bytes8::widen(errors[k], e[k]);
  }
  if constexpr (kIsForward) {
    sums.add<kRows>(v);
  } else {
    sums.add<kRows>(v, e);
  }
}

// join(a, b) of all threads of a block that have the same channel, at thread c for channel c of the
// block's plane.
template <class Number, class Join>
__device__ __forceinline__ Number over_block(Number (&own)[kOctet], std::uint32_t octets,
                                             const Join& join) {
  __shared__ Number parts[kOctetWarps][32 * kOctet];
  for (std::uint32_t reach = octets; reach < 32; reach *= 2) {
#pragma unroll
    for (int i = 0; i < kOctet; ++i)
      own[i] = join(own[i], __shfl_xor_sync(kAllLanes, own[i], static_cast<int>(reach)));
  }
  const std::uint32_t lane = threadIdx.x % 32;
  __syncthreads();  // parts may be in use from an earlier call
  if (lane < octets) {
#pragma unroll
    for (int i = 0; i < kOctet; ++i) parts[threadIdx.x / 32][lane * kOctet + i] = own[i];
  }
  __syncthreads();
  Number all{};
  if (threadIdx.x < octets * kOctet) {
    all = parts[0][threadIdx.x];
    for (unsigned int w = 1; w < kOctetWarps; ++w) all = join(all, parts[w][threadIdx.x]);
  }
  return all;
}

// long long, for which there are shuffles.
__device__ __forceinline__ long long sum_of_block(std::int64_t (&own)[kOctet],
                                                  std::uint32_t octets) {
  long long numbers[kOctet];
#pragma unroll
  for (int i = 0; i < kOctet; ++i) numbers[i] = own[i];
  return over_block(numbers, octets, [](long long a, long long b) { return a + b; });
}

template <class Values, class Laws>
__global__ void __launch_bounds__(kOctetThreads, kBlocks)
    sum_channels(const __grid_constant__ NormSumsJob<Laws> job) {
  start_kernel();
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  const std::uint32_t rows = at.is_inside ? job.values.rows.rows : 0;
  const std::size_t step = std::size_t{at.step} * pitch;
  OctetSums own;
  // From the last row on: what was written last is in the cache still, and what is read last here
  // will be for who rounds.
  const auto number_at = [&](std::uint32_t row) {
    return std::size_t{rows - 1 - row} * pitch + at.channel;
  };
  std::uint32_t row = at.row;
  for (; row + (kRowsAtOnce - 1) * at.step < rows; row += kRowsAtOnce * at.step)
    add_rows<Values, kRowsAtOnce>(job, number_at(row), step, own);
#pragma unroll 1
  for (; row < rows; row += at.step) add_rows<Values, 1>(job, number_at(row), step, own);
  const std::uint32_t octets = job.values.octets();
  const std::uint32_t channel = blockIdx.y * octets * kOctet + threadIdx.x;
  const bool has_channel = threadIdx.x < octets * kOctet && channel < job.values.rows.channels;
  const NormPlace& norm = job.laws.norm;
  NormTotals* to = norm.totals + channel;
  const long long first = sum_of_block(own.first, octets);
  const long long second = sum_of_block(own.second, octets);
  if (has_channel) {
    atomic_add(reinterpret_cast<std::uint64_t*>(&to->first), static_cast<std::uint64_t>(first));
    atomic_add(reinterpret_cast<std::uint64_t*>(&to->second), static_cast<std::uint64_t>(second));
  }
  if constexpr (is_forward<Laws>) {
    const std::int32_t least =
        over_block(own.least, octets, [](std::int32_t a, std::int32_t b) { return min(a, b); });
    const std::int32_t most =
        over_block(own.most, octets, [](std::int32_t a, std::int32_t b) { return max(a, b); });
    if (has_channel) {
      atomicMax(&to->low, static_cast<std::uint32_t>(kNormEnd - least));
      atomicMax(&to->high, static_cast<std::uint32_t>(kNormEnd + most));
    }
  }
  if (job.is_alone == 0) return;
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    NormPlane& plane = norm.planes[blockIdx.y];
    is_last = is_last_block(&plane.blocks_done, gridDim.x);
    if (is_last) plane.blocks_done = 0;
  }
  __syncthreads();
  if (is_last) apply_laws(job.laws, blockIdx.y, channel, has_channel);
}

// A block a plane.
template <class Laws>
__global__ void __launch_bounds__(kOctetThreads)
    apply_laws_alone(const __grid_constant__ NormSumsJob<Laws> job) {
  start_kernel();
  const std::uint32_t channels = job.values.plane_channels();
  const std::uint32_t channel = blockIdx.x * channels + threadIdx.x;
  apply_laws(job.laws, blockIdx.x, channel,
             threadIdx.x < channels && channel < job.values.rows.channels);
}

// The sum of four.
__device__ __forceinline__ std::uint32_t magnitudes_of(std::uint32_t bytes) {
  const std::uint32_t signs = __vcmplts4(bytes, 0u) | 0x01010101u;  // of each, 1 or -1
  return static_cast<std::uint32_t>(__dp4a(static_cast<int>(bytes), static_cast<int>(signs), 0));
}

// A block an output.
__global__ void __launch_bounds__(256) find_sum_shifts(const __grid_constant__ SumShiftsJob job) {
  start_kernel();
  for (std::uint32_t output = blockIdx.x; output < job.outputs; output += gridDim.x) {
    const std::int8_t* weights = job.mantissas + std::size_t{output} * job.depth;
    std::uint32_t sum = 0;  // of at most 2^24 weights
    if (job.depth % 4 == 0) {
      for (std::uint32_t i = threadIdx.x; i < job.depth / 4; i += blockDim.x)
        sum += magnitudes_of(reinterpret_cast<const std::uint32_t*>(weights)[i]);
    } else {
      for (std::uint32_t i = threadIdx.x; i < job.depth; i += blockDim.x)
        sum += magnitude_of<std::int32_t>(weights[i]);
    }
    const BlockTotals all = block_totals(0, sum);
    if (threadIdx.x == 0)
      job.shifts[output] =
          static_cast<std::int8_t>(norm_sum_shift(static_cast<std::int64_t>(all.sum)));
  }
}

template <class Laws>
void queue_sums(DeviceQueue& queue, const NormSumsJob<Laws>& job) {
  const Grid grid = octet_grid(queue, job.values, kBlocks, kRowsAtOnce);
  if (job.values.has_sums != 0) return queue.launch(sum_channels<Sums8, Laws>, grid, job);
  queue.launch(sum_channels<Bytes8, Laws>, grid, job);
}

}  // namespace

NormRows norm_rows(const Rows& rows, bool has_sums) {
  constexpr std::uint32_t kMostBits = 5;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(rows.pitch() / kOctet - 1));
  return {.rows = rows,
          .octet_bits = bits < kMostBits ? bits : kMostBits,
          .has_sums = has_sums ? 1u : 0u};
}

void queue(DeviceQueue& queue, const NormSumsJob<NormLinesJob>& job) {
  queue_sums(queue, job);
}
void queue(DeviceQueue& queue, const NormSumsJob<NormPlanesJob>& job) {
  queue_sums(queue, job);
}
void queue_laws(DeviceQueue& queue, const NormSumsJob<NormLinesJob>& job) {
  queue.launch(apply_laws_alone<NormLinesJob>,
               {.blocks = job.values.planes(), .threads = kOctetThreads}, job);
}
void queue_laws(DeviceQueue& queue, const NormSumsJob<NormPlanesJob>& job) {
  queue.launch(apply_laws_alone<NormPlanesJob>,
               {.blocks = job.values.planes(), .threads = kOctetThreads}, job);
}

void queue(DeviceQueue& queue, const SumShiftsJob& job) {
  queue.launch(find_sum_shifts, {.blocks = job.outputs, .threads = 256}, job);
}

}  // namespace nibble::cuda
