// SPDX-License-Identifier: Apache-2.0
// The paths of the engine's kernel: one table of functions an instruction set.
#pragma once

#include "kernels/engine/engine_kernels.h"
#include "kernels/paths.h"

namespace nibble::inline kernels {

#define NIBBLE_FILTER8_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512vnni) PATH(amx))

#define NIBBLE_PATH(isa)                     \
  namespace isa {                            \
  extern const EngineKernels kEngineKernels; \
  }
NIBBLE_FILTER8_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kEngineKernels},
inline constexpr KernelPath<const EngineKernels*> kEngineKernelPaths[] = {
    NIBBLE_FILTER8_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
