// SPDX-License-Identifier: Apache-2.0
// Rounding kernels of ordinary numbers to fixed point and integers.
#include "kernels/quantize/cuda_quick.cuh"
#include "kernels/quantize/cuda_quick_grid.cuh"

namespace nibble::cuda {

void round_quick_grids(const RoundJob& job, const Place& place) {
  launch_quick_kind<QuickGrid>(job, place);
}

}  // namespace nibble::cuda
