// SPDX-License-Identifier: Apache-2.0
// quantize on AVX2.
#include "kernels/simd/avx2.h"

#include "kernels/quantize/dispatch.h"
#include "kernels/simd/portable.h"

namespace nibble::avx2 {

struct QuantizeSimd : Simd {
  struct Tag {};
  using Scalar = PortableSimd<Tag>;
};

const QuantizeKernels kQuantizeKernels = kernels_of<QuantizeSimd>();

}  // namespace nibble::avx2
