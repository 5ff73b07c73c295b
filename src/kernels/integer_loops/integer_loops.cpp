// SPDX-License-Identifier: Apache-2.0
// The choice of the integer loops.
#include "nibble/kernels/integer_loops.h"

#include "kernels/integer_loops/tables.h"

namespace nibble {

const IntegerLoops& integer_loops(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return avx512::kIntegerLoops;
  if (isa >= Isa::avx2) return avx2::kIntegerLoops;
#endif
  return isa >= Isa::portable ? portable::kIntegerLoops : reference::kIntegerLoops;
}

const IntegerLoops& integer_loops() {
  return integer_loops(active_isa());
}

}  // namespace nibble
