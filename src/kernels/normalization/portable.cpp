// SPDX-License-Identifier: Apache-2.0
// The loops of batch norm for machines without AVX2.
#include "kernels/normalization/loops.h"

namespace nibble::inline kernels::portable {
namespace {

struct NormPath {};

}  // namespace

constinit const NormalizationLoops kNormalizationLoops = normalization_loops_of<NormPath>();

}  // namespace nibble::inline kernels::portable
