// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of fixed point and integers.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_grids(const RoundJob& job, const Place& place) {
  launch_kind<Grids>(job, place);
}

}  // namespace nibble::cuda
