// SPDX-License-Identifier: Apache-2.0
// The path of machines without a vector unit that Nibble knows.
#include "kernels/accumulate/one_lane.h"
#include "kernels/accumulate/processor_tiles.h"

namespace nibble::inline kernels::portable {

accumulation::TileKernel tile_kernel(const accumulation::Job& job) {
  return accumulation::choose_kernel<OneLane>(job);
}

}  // namespace nibble::inline kernels::portable
