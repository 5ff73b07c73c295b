// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of finite numbers to posits by draws.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_posit.cuh"

namespace nibble::cuda {

void round_quick_posits(const RoundJob& job, const Place& place) {
  launch_quick_draws<QuickPosit>(job, place);
}

}  // namespace nibble::cuda
