// SPDX-License-Identifier: Apache-2.0
// Encoding kernels of floats.
#include "kernels/quantize/cuda_encode.cuh"

namespace nibble::cuda {

void encode_floats(const EncodeJob& job, const Place& place) {
  launch_coder<FloatCoder>(job, place);
}

}  // namespace nibble::cuda
