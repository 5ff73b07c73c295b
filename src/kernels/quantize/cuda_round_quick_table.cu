// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of numbers to small codebooks by draws.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_table.cuh"

namespace nibble::cuda {

void round_quick_tables(const RoundJob& job, const Place& place) {
  launch_quick_draws<QuickTable>(job, place);
}

}  // namespace nibble::cuda
