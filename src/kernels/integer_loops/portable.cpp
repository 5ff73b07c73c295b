// SPDX-License-Identifier: Apache-2.0
// The integer loops for machines without AVX2.
#include "kernels/integer_loops/loops.h"

namespace nibble::inline kernels::portable {
namespace {

struct Path {};

}  // namespace

constinit const IntegerLoops kIntegerLoops = loops_of<Path>();

}  // namespace nibble::inline kernels::portable
