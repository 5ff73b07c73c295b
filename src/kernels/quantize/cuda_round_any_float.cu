// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of floats without a mantissa, a zero, subnormals or -0.
#include "kernels/quantize/cuda_round.cuh"

namespace nibble::cuda {

void round_any_floats(const RoundJob& job, const Place& place) {
  launch_kind<Floats<false>>(job, place);
}

}  // namespace nibble::cuda
