// SPDX-License-Identifier: Apache-2.0
// The definition itself on the device, one thread an element.
#include "kernels/quantize/cuda/define.h"

#include "kernels/quantize/cuda/round.cuh"
#include "numerics/round_scaled.h"

namespace nibble::cuda {
namespace {

template <class E>
__device__ __noinline__ void define_one(const DefineJob& job, const E& element, std::int64_t i) {
  const ElementScale scale = scale_at(job.scales, i);
  const float x = load_value(job.input, job.input_type, i);
  const std::uint32_t draw =
      job.rounding.is_stochastic() ? draw_one({job.random, job.rounding.random_bits}, i) : 0;
  const ScaledValue rounded =
      round_scaled_element(element, job.kind, GroupScale{scale.scale, scale.zero},
                           static_cast<double>(x), job.rounding, job.overflow, draw);
  if (job.output == nullptr) {
    double q = rounded.element;
    if constexpr (std::is_same_v<E, GridElement>) q += scale.zero * element.step();
    store_code(job.codes, i,
               std::isnan(rounded.element) ? job.codes.nan_code : code_of_value(element, q));
    return;
  }
  float value = static_cast<float>(rounded.value);
  if (value != value) value = x == x ? Lane::floats(0x7FC00000U) : quiet(x);
  store_value(job.output, job.output_type, i, value);
}

template <ElementFamily kFamily>
__global__ void __launch_bounds__(kThreads) define_kernel(const __grid_constant__ DefineJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < job.count;
       i += step) {
    if constexpr (kFamily == ElementFamily::floating) define_one(job, job.element.floating, i);
    if constexpr (kFamily == ElementFamily::grid) define_one(job, job.element.grid, i);
    if constexpr (kFamily == ElementFamily::posit) define_one(job, job.element.posit, i);
    if constexpr (kFamily == ElementFamily::codebook) {
      define_one(
          job, CodebookTable{job.element.table, static_cast<std::size_t>(job.element.entries)}, i);
    }
  }
}

template <ElementFamily kFamily>
void define_family(const DefineJob& job, const Place& place) {
  define_kernel<kFamily><<<blocks_for((job.count + kThreads - 1) / kThreads, place), kThreads, 0,
                           static_cast<cudaStream_t>(place.stream)>>>(job);
  check_launch("quantize");
}

}  // namespace

void round_by_definition(const DefineJob& job, const Place& place) {
  switch (job.element.family) {
    case ElementFamily::floating:
      return define_family<ElementFamily::floating>(job, place);
    case ElementFamily::grid:
      return define_family<ElementFamily::grid>(job, place);
    case ElementFamily::posit:
      return define_family<ElementFamily::posit>(job, place);
    case ElementFamily::codebook:
      return define_family<ElementFamily::codebook>(job, place);
  }
}

}  // namespace nibble::cuda
