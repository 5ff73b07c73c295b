// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of numbers to small codebooks by draws.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_table.cuh"

namespace nibble::cuda {

namespace {

template <bool kShort>
void launch_tables(const RoundJob& job, const Place& place) {
  launch_quick<QuickTable, RoundingKind::stochastic, ScaleUse::none, kShort, OwnBlocks::none>(
      job, place);
}

}  // namespace

void round_quick_tables(const RoundJob& job, const Place& place) {
  job.plan.random_bits <= 16 ? launch_tables<true>(job, place) : launch_tables<false>(job, place);
  check_launch("quantize");
}

}  // namespace nibble::cuda
