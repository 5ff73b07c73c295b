// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the int8 product.
#include "kernels/product8/product8.h"

#include "kernels/product8/paths.h"

namespace nibble {

const Product8& product8_path() {
  const auto& path = best_path(kProduct8Paths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

}  // namespace nibble
