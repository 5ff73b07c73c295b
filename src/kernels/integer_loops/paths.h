// SPDX-License-Identifier: Apache-2.0
// The paths of the integer loops: one table of functions an instruction set.
#pragma once

#include "kernels/integer_loops/integer_loops.h"
#include "kernels/paths.h"

namespace nibble::inline kernels {

#define NIBBLE_INTEGER_LOOPS_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512))

#define NIBBLE_PATH(isa)                   \
  namespace isa {                          \
  extern const IntegerLoops kIntegerLoops; \
  }
NIBBLE_INTEGER_LOOPS_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kIntegerLoops},
inline constexpr KernelPath<const IntegerLoops*> kIntegerLoopsPaths[] = {
    NIBBLE_INTEGER_LOOPS_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
