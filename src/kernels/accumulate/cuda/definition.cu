// SPDX-License-Identifier: Apache-2.0
// Every accumulator on a GPU, by the definition: one output a thread.
#include "kernels/accumulate/cuda/kernels.h"

namespace nibble::cuda {
namespace {

using accumulation::SumRules;

// A call: inlined, four families at up to seven places would be a long kernel.
__device__ __noinline__ double rounded(const DefinitionJob& job, const ElementView& element,
                                       double x, std::uint64_t draw_index) {
  const Rounding rounding = job.rounding;
  const std::uint32_t draw =
      rounding.is_stochastic() ? accumulation::draw_of(job.random, draw_index, rounding.random_bits)
                               : 0;
  return round_to(element, x, rounding, job.overflow, draw);
}

class Roundings {
 public:
  __device__ Roundings(const DefinitionJob& job, std::uint64_t first_draw)
      : job_(job), next_draw_(first_draw) {}

  __device__ double product(double x) { return rounded(job_, job_.product, x, next_draw_++); }
  __device__ double sum(double x) { return rounded(job_, job_.sum, x, next_draw_++); }

 private:
  const DefinitionJob& job_;
  std::uint64_t next_draw_;
};

constexpr int kOutputsPerBlock = 128;

template <SumMethod kMethod, SumOrder kOrder>
__global__ void __launch_bounds__(kOutputsPerBlock)
    outputs(const __grid_constant__ DefinitionJob job) {
  const std::int64_t columns = job.operands.columns;
  const std::int64_t index = std::int64_t{blockIdx.x} * kOutputsPerBlock + threadIdx.x;
  if (index >= job.operands.rows * columns) return;
  const SumRules rules = {.method = kMethod, .order = kOrder, .chunk = job.rules.chunk};
  const Roundings roundings(job, static_cast<std::uint64_t>(index) * job.draws_per_output);
  accumulation::Output output(job.operands, rules, index / columns, index % columns, roundings);
  job.c[index] = accumulation::stored(output.value());
}

auto kernel_of(const SumRules& rules) {
  constexpr SumOrder kSequential = SumOrder::sequential;
  switch (rules.method) {
    case SumMethod::fused:
      return outputs<SumMethod::fused, kSequential>;
    case SumMethod::kahan:
      return outputs<SumMethod::kahan, kSequential>;
    case SumMethod::quire:
      return outputs<SumMethod::quire, kSequential>;
    default:
      return rules.order == SumOrder::pairwise ? outputs<SumMethod::separate, SumOrder::pairwise>
                                               : outputs<SumMethod::separate, kSequential>;
  }
}

}  // namespace

void run_definition(const DefinitionJob& job, const Place& place) {
  const std::int64_t count = job.operands.rows * job.operands.columns;
  const auto blocks = static_cast<unsigned>((count - 1) / kOutputsPerBlock + 1);
  kernel_of(job.rules)<<<blocks, kOutputsPerBlock, 0, static_cast<cudaStream_t>(place.stream)>>>(
      job);
  check_launch("device_matmul");
}

}  // namespace nibble::cuda
