// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the engine's kernel.
#include "nibble/kernels/filter8.h"

#include "kernels/filter8/paths.h"

namespace nibble {
namespace {

const Filter8& path_of(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::amx) return amx::kFilter8;
  if (isa == Isa::avx512vnni) return avx512vnni::kFilter8;
  if (isa == Isa::avx2) return avx2::kFilter8;
#endif
  return isa == Isa::reference ? reference::kFilter8 : portable::kFilter8;
}

}  // namespace

const Filter8& filter8_path() {
  const Isa isa = best_path(kFilter8Paths, active_isa());
  report_isa_used(isa);
  return path_of(isa);
}

}  // namespace nibble
