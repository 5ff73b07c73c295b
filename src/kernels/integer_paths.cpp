// SPDX-License-Identifier: Apache-2.0
// The choice of the path of each operation on integers.
#include "kernels/integer_paths.h"

namespace nibble::inline kernels {

const ProductKernels& product_kernels() {
  const auto& path = best_path(kProductKernelPaths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

const IntegerLoops& integer_loops(Isa isa) {
  return *best_path(kIntegerLoopsPaths, isa).kernel;
}

const IntegerLoops& integer_loops() {
  return integer_loops(active_isa());
}

const NormalizationLoops& normalization_loops(Isa isa) {
  return *best_path(kNormalizationPaths, isa).kernel;
}

const NormalizationLoops& normalization_loops() {
  return normalization_loops(active_isa());
}

const EngineKernels& engine_kernels() {
  const auto& path = best_path(kEngineKernelPaths, active_isa());
  report_isa_used(path.isa);
  return *path.kernel;
}

}  // namespace nibble::inline kernels
