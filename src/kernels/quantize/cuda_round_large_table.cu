// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of codebooks of more than sixteen entries.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_large_tables(const RoundJob& job, const Place& place) {
  launch_kind<Tables<false>>(job, place);
}

}  // namespace nibble::cuda
