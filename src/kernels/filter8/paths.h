// SPDX-License-Identifier: Apache-2.0
// The paths of the engine's kernel: one table of functions an instruction set.
#pragma once

#include "nibble/core/isa.h"
#include "nibble/kernels/filter8.h"

namespace nibble {

inline constexpr Isa kFilter8Paths[] = {Isa::reference, Isa::portable, Isa::avx2, Isa::avx512vnni,
                                        Isa::amx};

namespace reference {
extern const Filter8 kFilter8;
}
namespace portable {
extern const Filter8 kFilter8;
}
namespace avx2 {
extern const Filter8 kFilter8;
}
namespace avx512vnni {
extern const Filter8 kFilter8;
}
namespace amx {
extern const Filter8 kFilter8;
}

}  // namespace nibble
