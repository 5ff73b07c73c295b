// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the engine's kernel.
#include "kernels/engine/engine_kernels.h"

#include "kernels/engine/paths.h"

namespace nibble::inline kernels {

const EngineKernels& engine_kernels() {
  const auto& path = best_path(kEngineKernelPaths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

}  // namespace nibble::inline kernels
