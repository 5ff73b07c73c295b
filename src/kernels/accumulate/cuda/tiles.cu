// SPDX-License-Identifier: Apache-2.0
// Tiles of outputs on a GPU: a block's threads share their operands, a thread has several outputs.
#include <type_traits>

#include "kernels/accumulate/choose_kernel.h"
#include "kernels/accumulate/cuda/kernels.h"
#include "kernels/accumulate/cuda/lanes.cuh"

namespace nibble::cuda {
namespace {

using accumulation::Job;
using accumulation::Operands;

template <class L>
__host__ __device__ std::int64_t blocks_across(const Operands& operands) {
  return (operands.columns - 1) / kBlockColumns<L> + 1;
}

template <SumOrder kOrder>
using LanesOf = std::conditional_t<kOrder == SumOrder::pairwise, TreeLanes, Lanes>;

template <class Round, bool kPlainSums, SumMethod kMethod, SumOrder kOrder>
__global__ void __launch_bounds__(kThreads) tiles(const __grid_constant__ Job job) {
  using L = LanesOf<kOrder>;
  __shared__ typename SharedPanels<L>::Memory memory;
  const std::int64_t across = blocks_across<L>(job.operands);
  const std::int64_t first_row = blockIdx.x / across * kBlockRows<L>;
  const std::int64_t first_column = blockIdx.x % across * kBlockColumns<L>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const SharedPanels<L> panels(job.operands, memory, first_row, first_column);
  accumulation::Tile<L, Round, kPlainSums, SharedPanels<L>> tile(
      job, first_row + warp * L::kRows, first_column + lane * L::kColumns, panels);
  tile.template run<kMethod, kOrder>();
}

template <class L>
unsigned blocks_of(const Operands& operands) {
  const std::int64_t down = (operands.rows - 1) / kBlockRows<L> + 1;
  return static_cast<unsigned>(blocks_across<L>(operands) * down);
}

struct Kernels {
  using Lanes = cuda::Lanes;
  template <class Round, bool kPlainSums, SumMethod kMethod, SumOrder kOrder>
  static constexpr auto of = tiles<Round, kPlainSums, kMethod, kOrder>;
};

}  // namespace

void run_tiles(const Job& job, const Place& place) {
  const bool is_tree = job.order == SumOrder::pairwise;
  const unsigned blocks =
      is_tree ? blocks_of<TreeLanes>(job.operands) : blocks_of<Lanes>(job.operands);
  const auto kernel = accumulation::choose_rounding<Kernels>(job);
  kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(job);
  check_launch("device_matmul");
}

}  // namespace nibble::cuda
