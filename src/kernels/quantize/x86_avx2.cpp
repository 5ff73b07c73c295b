// SPDX-License-Identifier: Apache-2.0
// quantize on AVX2.
#include "kernels/quantize/dispatch.h"
#include "kernels/simd/avx2.h"

namespace nibble::inline kernels::avx2 {

const QuantizeKernels kQuantizeKernels = kernels_of<Simd>();

}  // namespace nibble::inline kernels::avx2
