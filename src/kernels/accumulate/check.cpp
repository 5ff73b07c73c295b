// SPDX-License-Identifier: Apache-2.0
// Which accumulators have a meaning.
#include "kernels/accumulate/check.h"

#include <string>

#include "nibble/core/error.h"

namespace nibble::inline kernels::accumulation {
namespace {

void check_format(const Format& format, const Accumulator& accumulator) {
  check(format.element);
  if (format.scaling.kind != ScaleKind::none) {
    throw Error("matmul", "format of an accumulator", to_string(format), "one without scaling");
  }
  check_combination(format, accumulator.rounding, accumulator.overflow);
}

}  // namespace

void check_accumulator(const Accumulator& accumulator) {
  const SumMethod method = accumulator.method;
  check_format(accumulator.format, accumulator);
  if (method == SumMethod::separate || method == SumMethod::kahan) {
    check_format(accumulator.product_format, accumulator);
  }
  if (accumulator.chunk < 0) {
    throw Error("matmul", "chunk length", std::to_string(accumulator.chunk), "0 or more");
  }
  const bool is_serial = method == SumMethod::fused || method == SumMethod::kahan;
  if (accumulator.order == SumOrder::pairwise && is_serial) {
    throw Error("matmul", "order of a fused or compensated sum", "pairwise", "sequential");
  }
}

}  // namespace nibble::inline kernels::accumulation
