// SPDX-License-Identifier: Apache-2.0
// The paths of the loops of batch norm: one table of functions an instruction set.
#pragma once

#include "kernels/normalization/normalization_loops.h"
#include "kernels/paths.h"

namespace nibble::inline kernels {

#define NIBBLE_NORMALIZATION_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512))

#define NIBBLE_PATH(isa)                               \
  namespace isa {                                      \
  extern const NormalizationLoops kNormalizationLoops; \
  }
NIBBLE_NORMALIZATION_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kNormalizationLoops},
inline constexpr KernelPath<const NormalizationLoops*> kNormalizationPaths[] = {
    NIBBLE_NORMALIZATION_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
