// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm on AVX-512.
#include "kernels/normalization/loops.h"

namespace nibble::inline kernels::avx512 {
namespace {

struct NormPath {};

}  // namespace

constinit const NormalizationLoops kNormalizationLoops = normalization_loops_of<NormPath>();

}  // namespace nibble::inline kernels::avx512
