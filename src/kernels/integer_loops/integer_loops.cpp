// SPDX-License-Identifier: Apache-2.0
// The choice of the integer loops.
#include "kernels/integer_loops/integer_loops.h"

#include "kernels/integer_loops/paths.h"

namespace nibble::inline kernels {

const IntegerLoops& integer_loops(Isa isa) {
  return *best_path(kIntegerLoopsPaths, isa).kernel;
}

const IntegerLoops& integer_loops() {
  return integer_loops(active_isa());
}

}  // namespace nibble::inline kernels
