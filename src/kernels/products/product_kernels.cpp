// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the int8 product.
#include "kernels/products/product_kernels.h"

#include "kernels/products/paths.h"

namespace nibble::inline kernels {

const ProductKernels& product_kernels() {
  const auto& path = best_path(kProductKernelPaths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

}  // namespace nibble::inline kernels
