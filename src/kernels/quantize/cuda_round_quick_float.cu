// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of ordinary numbers to short floats.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_float.cuh"

namespace nibble::cuda {

void round_quick_floats(const RoundJob& job, const Place& place) {
  launch_quick_kind<QuickFloat>(job, place);
}

}  // namespace nibble::cuda
