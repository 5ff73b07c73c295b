// SPDX-License-Identifier: Apache-2.0
// The choice of the path of the int8 product.
#include "nibble/kernels/product8.h"

#include "kernels/product8/paths.h"

namespace nibble {
namespace {

const Product8& path_of(Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::amx) return amx::kProduct8;
  if (isa == Isa::avx512vnni) return avx512vnni::kProduct8;
  if (isa == Isa::avx2) return avx2::kProduct8;
#endif
  return isa == Isa::reference ? reference::kProduct8 : portable::kProduct8;
}

}  // namespace

const Product8& product8_path() {
  const Isa isa = best_path(kProduct8Paths, active_isa());
  report_isa_used(isa);
  return path_of(isa);
}

}  // namespace nibble
