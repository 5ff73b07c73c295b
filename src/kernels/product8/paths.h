// SPDX-License-Identifier: Apache-2.0
// The paths of the int8 product: one table of functions an instruction set.
#pragma once

#include "nibble/core/isa.h"
#include "nibble/kernels/product8.h"

namespace nibble {

inline constexpr Isa kProduct8Paths[] = {Isa::reference, Isa::portable, Isa::avx2, Isa::avx512vnni,
                                         Isa::amx};

namespace reference {
extern const Product8 kProduct8;
}
namespace portable {
extern const Product8 kProduct8;
}
namespace avx2 {
extern const Product8 kProduct8;
}
namespace avx512vnni {
extern const Product8 kProduct8;
TileOutcome requantize(const TileRounding& tile);
}  // namespace avx512vnni
namespace amx {
extern const Product8 kProduct8;
}

}  // namespace nibble
