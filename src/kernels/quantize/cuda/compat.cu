// SPDX-License-Identifier: Apache-2.0
// quantize as QPyTorch or its posit fork would, on the device.
#include "kernels/quantize/cuda/define.h"
#include "kernels/quantize/cuda/round.cuh"
#include "numerics/compat_rounding.h"

namespace nibble::cuda {
namespace {

__device__ __forceinline__ float largest_of_group(const DefineJob& job, std::int64_t i) {
  if (job.ranges == nullptr) return 0;
  const std::int64_t group = job.scales.is_short
                                 ? job.scales.grouping.group_of(static_cast<std::uint32_t>(i))
                                 : job.scales.grouping.group_of(i);
  const GroupRange range = job.ranges[group];
  return Lane::floats(Lane::max_unsigned(range.high, range.low));
}

__device__ __forceinline__ float round_one(const DefineJob& job, float x, float largest,
                                           std::uint32_t draw) {
  using namespace packages;
  const bool literal = job.compat != Compat::qtorch;
  const float scale = job.kind == ScaleKind::given ? 1.0F / job.scales.scale : 1.0F;
  switch (job.element.family) {
    case ElementFamily::grid:
      return job.kind == ScaleKind::power_of_two
                 ? round_block(job.element.grid.bits, literal, job.rounding, largest, x, draw)
                 : round_fixed(job.element.grid, literal, job.rounding, x, draw);
    case ElementFamily::floating:
      return job.compat == Compat::qtorch_plus
                 ? float_0_2_0(job.element.floating, job.rounding, x, draw)
                 : float_0_3_0(job.element.floating, literal, job.rounding, x, draw);
    case ElementFamily::posit:
      return round_posit(job.element.posit, scale, x);
    case ElementFamily::codebook:
      return round_table(job.element.table, static_cast<std::size_t>(job.element.entries), scale,
                         x);
  }
  return x;
}

__global__ void __launch_bounds__(kThreads) compat_kernel(const __grid_constant__ DefineJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += step) {
    const float x = load_value(job.input, job.input_type, i);
    const std::uint32_t draw = job.rounding.is_stochastic() ? draw_one({job.random, 32}, i) : 0;
    store_value(job.output, job.output_type, i, round_one(job, x, largest_of_group(job, i), draw));
  }
}

}  // namespace

void round_by_compat(const DefineJob& job, const Place& place) {
  compat_kernel<<<blocks_for((job.count + kThreads - 1) / kThreads, place), kThreads, 0,
                  static_cast<cudaStream_t>(place.stream)>>>(job);
  check_launch("quantize");
}

}  // namespace nibble::cuda
