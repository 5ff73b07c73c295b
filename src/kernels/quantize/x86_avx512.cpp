// SPDX-License-Identifier: Apache-2.0
// quantize on AVX-512.
#include "kernels/quantize/dispatch.h"
#include "kernels/simd/avx512.h"

namespace nibble::inline kernels::avx512 {

const QuantizeKernels kQuantizeKernels = kernels_of<Simd>();

}  // namespace nibble::inline kernels::avx512
