// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of codebooks of at most sixteen entries.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_small_tables(const RoundJob& job, const Place& place) {
  launch_kind<Tables<true>>(job, place);
}

}  // namespace nibble::cuda
