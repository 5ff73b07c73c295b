// SPDX-License-Identifier: Apache-2.0
// Encoding kernels of codebooks of at most sixteen entries.
#include "kernels/quantize/cuda_encode.cuh"

namespace nibble::cuda {

void encode_tables(const EncodeJob& job, const Place& place) {
  launch_coder<TableCoder>(job, place);
}

}  // namespace nibble::cuda
