// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the engine's kernel.
#include "kernels/filter8/filter8.h"

#include "kernels/filter8/paths.h"

namespace nibble {

const Filter8& filter8_path() {
  const auto& path = best_path(kFilter8Paths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

}  // namespace nibble
