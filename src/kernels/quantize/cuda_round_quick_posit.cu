// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of finite numbers to posits by draws.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_posit.cuh"

namespace nibble::cuda {

namespace {

template <bool kShort>
void launch_posits(const RoundJob& job, const Place& place) {
  launch_quick<QuickPosit, RoundingKind::stochastic, ScaleUse::none, kShort, OwnBlocks::none>(
      job, place);
}

}  // namespace

void round_quick_posits(const RoundJob& job, const Place& place) {
  job.plan.random_bits <= 16 ? launch_posits<true>(job, place) : launch_posits<false>(job, place);
  check_launch("quantize");
}

}  // namespace nibble::cuda
