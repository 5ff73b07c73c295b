// SPDX-License-Identifier: Apache-2.0
// quantize for machines without AVX2: the same algorithm, one lane at a time.
#include "kernels/simd/portable.h"
#include "kernels/quantize/dispatch.h"

namespace nibble::inline kernels::portable {

const QuantizeKernels kQuantizeKernels = kernels_of<Simd>();

}  // namespace nibble::inline kernels::portable
