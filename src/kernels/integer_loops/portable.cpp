// SPDX-License-Identifier: Apache-2.0
// The integer loops for machines without AVX2.
#include "kernels/simd/portable.h"
#include "kernels/integer_loops/loops.h"

namespace nibble::inline kernels::portable {
namespace {

struct Path {
  using Vectors = Simd;
};

}  // namespace

constinit const IntegerLoops kIntegerLoops = loops_of<Path>();

}  // namespace nibble::inline kernels::portable
