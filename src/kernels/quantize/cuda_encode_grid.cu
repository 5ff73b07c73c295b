// SPDX-License-Identifier: Apache-2.0
// Encoding kernels of fixed point and integers.
#include "kernels/quantize/cuda_encode.cuh"

namespace nibble::cuda {

void encode_grids(const EncodeJob& job, const Place& place) {
  launch_coder<GridCoder>(job, place);
}

}  // namespace nibble::cuda
