// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of most floats.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_plain_floats(const RoundJob& job, const Place& place) {
  launch_kind<Floats<true>>(job, place);
}

}  // namespace nibble::cuda
