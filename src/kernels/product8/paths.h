// SPDX-License-Identifier: Apache-2.0
// The paths of the int8 product: one table of functions an instruction set.
#pragma once

#include "kernels/paths.h"
#include "kernels/product8/product8.h"

namespace nibble {

#define NIBBLE_PRODUCT8_PATHS(PATH) \
  PATH(reference) PATH(portable) NIBBLE_ON_X86(PATH(avx2) PATH(avx512vnni) PATH(amx))

#define NIBBLE_PATH(isa)           \
  namespace isa {                  \
  extern const Product8 kProduct8; \
  }
NIBBLE_PRODUCT8_PATHS(NIBBLE_PATH)
#undef NIBBLE_PATH

#define NIBBLE_PATH(isa) {Isa::isa, &isa::kProduct8},
inline constexpr KernelPath<const Product8*> kProduct8Paths[] = {
    NIBBLE_PRODUCT8_PATHS(NIBBLE_PATH)};
#undef NIBBLE_PATH

namespace avx512vnni {
TileOutcome requantize(const TileRounding& tile);  // amx has no other
}

}  // namespace nibble
