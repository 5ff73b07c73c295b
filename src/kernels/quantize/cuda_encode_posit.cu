// SPDX-License-Identifier: Apache-2.0
// Encoding kernels of posits.
#include "kernels/quantize/cuda_encode.cuh"

namespace nibble::cuda {

void encode_posits(const EncodeJob& job, const Place& place) {
  launch_coder<PositCoder>(job, place);
}

}  // namespace nibble::cuda
