// SPDX-License-Identifier: Apache-2.0
// quantize for machines without AVX2: the same algorithm, one lane at a time.
#include "kernels/simd/portable.h"

#include "kernels/quantize/dispatch.h"

namespace nibble::portable {

struct Tag {};
struct QuantizeSimd : PortableSimd<Tag> {
  using Scalar = PortableSimd<Tag>;
};

const QuantizeKernels kQuantizeKernels = kernels_of<QuantizeSimd>();

}  // namespace nibble::portable
