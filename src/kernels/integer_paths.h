// SPDX-License-Identifier: Apache-2.0
// The paths of the operations on integers: of each one table of functions an instruction set.
#pragma once

#include "kernels/engine/engine_kernels.h"
#include "kernels/integer_loops/integer_loops.h"
#include "kernels/normalization/normalization_loops.h"
#include "kernels/paths.h"
#include "kernels/products/product_kernels.h"

namespace nibble::inline kernels {

// The int8 product of training.
#define NIBBLE_PRODUCT_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512vnni) PATH(amx))

#define NIBBLE_PATH(isa)                       \
  namespace isa {                              \
  extern const ProductKernels kProductKernels; \
  }
NIBBLE_PRODUCT_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kProductKernels},
inline constexpr KernelPath<const ProductKernels*> kProductKernelPaths[] = {
    NIBBLE_PRODUCT_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

namespace avx512vnni {
TileOutcome requantize(const TileRounding& tile);  // amx has no other
}

// The integer loops.
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

// The loops of batch norm.
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

// The engine's kernel.
#define NIBBLE_ENGINE_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512vnni) PATH(amx))

#define NIBBLE_PATH(isa)                     \
  namespace isa {                            \
  extern const EngineKernels kEngineKernels; \
  }
NIBBLE_ENGINE_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kEngineKernels},
inline constexpr KernelPath<const EngineKernels*> kEngineKernelPaths[] = {
    NIBBLE_ENGINE_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

}  // namespace nibble::inline kernels
