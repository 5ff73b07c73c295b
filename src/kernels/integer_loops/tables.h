// SPDX-License-Identifier: Apache-2.0
// One table of integer loops an instruction set.
#pragma once

#include "nibble/kernels/integer_loops.h"

namespace nibble {

namespace reference {
extern const IntegerLoops kIntegerLoops;
}
namespace portable {
extern const IntegerLoops kIntegerLoops;
}
namespace avx2 {
extern const IntegerLoops kIntegerLoops;
}
namespace avx512 {
extern const IntegerLoops kIntegerLoops;
}

}  // namespace nibble
