// SPDX-License-Identifier: Apache-2.0
// The paths of the int8 product: one table of functions an instruction set.
#pragma once

#include "kernels/paths.h"
#include "kernels/products/product_kernels.h"

namespace nibble::inline kernels {

#define NIBBLE_PRODUCT8_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512vnni) PATH(amx))

#define NIBBLE_PATH(isa)                       \
  namespace isa {                              \
  extern const ProductKernels kProductKernels; \
  }
NIBBLE_PRODUCT8_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kProductKernels},
inline constexpr KernelPath<const ProductKernels*> kProductKernelPaths[] = {
    NIBBLE_PRODUCT8_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

namespace avx512vnni {
TileOutcome requantize(const TileRounding& tile);  // amx has no other
}

}  // namespace nibble::inline kernels
