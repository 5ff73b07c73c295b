// SPDX-License-Identifier: Apache-2.0
// Exact sums of channels over a batch, and of the magnitudes of weights.
#include <bit>
#include <climits>

#include "backend/cuda/kernel_start.cuh"
#include "backend/cuda/octets.cuh"
#include "backend/cuda/rounding.cuh"

namespace nibble::cuda {
namespace {

constexpr unsigned int kAllLanes = 0xffffffffu;
constexpr int kRowsAtOnce = 4;  // loads under way

// Σ and ends of eight channels, as one thread has them.
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
  __device__ __forceinline__ void add(const std::int32_t (&v)[kOctet]) {
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      first[i] += v[i];
      second[i] += std::int64_t{v[i]} * v[i];
      least[i] = min(least[i], v[i]);
      most[i] = max(most[i], v[i]);
    }
  }
  __device__ __forceinline__ void add(const std::int32_t (&v)[kOctet],
                                      const std::int32_t (&e)[kOctet]) {
#pragma unroll
    for (int i = 0; i < kOctet; ++i) {
      first[i] += e[i];
      second[i] += std::int64_t{e[i]} * v[i];
    }
  }
};

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

template <class Values, bool kIsForward>
__global__ void __launch_bounds__(kOctetThreads)
    sum_channels(const __grid_constant__ NormSumsJob job) {
  start_kernel();
  const OctetPlace at(job.values);
  const std::uint32_t pitch = job.values.rows.chunks.divisor * kChunk;
  const std::uint32_t rows = at.is_inside ? job.values.rows.rows : 0;
  OctetSums own;
  for (std::uint32_t row = at.row; row < rows; row += at.step * kRowsAtOnce) {
    typename Values::Loaded values[kRowsAtOnce];
    uint2 errors[kRowsAtOnce];
#pragma unroll
    for (int k = 0; k < kRowsAtOnce; ++k) {
      if (row + k * at.step >= rows) continue;
      const std::size_t number = std::size_t{row + k * at.step} * pitch + at.channel;
      values[k] = Values::load(job.values.rows.data, number);
      if (!kIsForward) errors[k] = Bytes8::load(job.errors, number);
    }
#pragma unroll
    for (int k = 0; k < kRowsAtOnce; ++k) {
      if (row + k * at.step >= rows) continue;
      std::int32_t v[kOctet];
      Values::widen(values[k], v);
      if (kIsForward) {
        own.add(v);
      } else {
        std::int32_t e[kOctet];
        Bytes8::widen(errors[k], e);
        own.add(v, e);
      }
    }
  }
  const std::uint32_t octets = job.values.octets();
  const std::uint32_t channel = blockIdx.y * octets * kOctet + threadIdx.x;
  const bool has_channel = threadIdx.x < octets * kOctet && channel < job.values.rows.channels;
  NormTotals* to = job.norm.totals + channel;
  const long long first = sum_of_block(own.first, octets);
  const long long second = sum_of_block(own.second, octets);
  if (has_channel) {
    atomic_add(reinterpret_cast<std::uint64_t*>(&to->first), static_cast<std::uint64_t>(first));
    atomic_add(reinterpret_cast<std::uint64_t*>(&to->second), static_cast<std::uint64_t>(second));
  }
  if (!kIsForward) return;
  const std::int32_t least =
      over_block(own.least, octets, [](std::int32_t a, std::int32_t b) { return min(a, b); });
  const std::int32_t most =
      over_block(own.most, octets, [](std::int32_t a, std::int32_t b) { return max(a, b); });
  if (has_channel) {
    atomicMax(&to->low, static_cast<std::uint32_t>(kNormEnd - least));
    atomicMax(&to->high, static_cast<std::uint32_t>(kNormEnd + most));
  }
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    job.norm.shared->value_exponent = INT_MIN;
}

// A block an output.
__global__ void __launch_bounds__(256) find_sum_shifts(const __grid_constant__ SumShiftsJob job) {
  start_kernel();
  for (std::uint32_t output = blockIdx.x; output < job.outputs; output += gridDim.x) {
    const std::int8_t* weights = job.mantissas + std::size_t{output} * job.depth;
    std::uint32_t sum = 0;  // of at most 2^24 weights
    for (std::uint32_t i = threadIdx.x; i < job.depth; i += blockDim.x)
      sum += magnitude_of<std::int32_t>(weights[i]);
    const BlockTotals all = block_totals(0, sum);
    if (threadIdx.x == 0)
      job.shifts[output] =
          static_cast<std::int8_t>(norm_sum_shift(static_cast<std::int64_t>(all.sum)));
  }
}

template <bool kIsForward>
void queue_sums(DeviceQueue& queue, const NormSumsJob& job) {
  constexpr std::uint32_t kRowsOfThread = 16;
  const Grid grid = octet_grid(queue, job.values, kRowsOfThread);
  if (job.values.has_sums != 0) return queue.launch(sum_channels<Sums8, kIsForward>, grid, job);
  queue.launch(sum_channels<Bytes8, kIsForward>, grid, job);
}

}  // namespace

NormRows norm_rows(const Rows& rows, bool has_sums) {
  constexpr std::uint32_t kMostBits = 5;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(rows.pitch() / kOctet - 1));
  return {.rows = rows,
          .octet_bits = bits < kMostBits ? bits : kMostBits,
          .has_sums = has_sums ? 1u : 0u};
}

void queue(DeviceQueue& queue, const NormSumsJob& job) {
  if (job.errors == nullptr) return queue_sums<true>(queue, job);
  queue_sums<false>(queue, job);
}

void queue(DeviceQueue& queue, const SumShiftsJob& job) {
  queue.launch(find_sum_shifts, {.blocks = job.outputs, .threads = 256}, job);
}

}  // namespace nibble::cuda
