// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of posits.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_posits(const RoundJob& job, const Place& place) {
  launch_kind<Posits>(job, place);
}

}  // namespace nibble::cuda
