// SPDX-License-Identifier: Apache-2.0
// The choice of the loops of batch norm.
#include "kernels/normalization/normalization_loops.h"

#include "kernels/normalization/paths.h"

namespace nibble::inline kernels {

const NormalizationLoops& normalization_loops(Isa isa) {
  return *best_path(kNormalizationPaths, isa).kernel;
}

const NormalizationLoops& normalization_loops() {
  return normalization_loops(active_isa());
}

}  // namespace nibble::inline kernels
