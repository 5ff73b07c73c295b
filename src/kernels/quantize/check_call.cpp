// SPDX-License-Identifier: Apache-2.0
// What quantize and encode refuse, wherever they run.
#include "kernels/quantize/check_call.h"

#include <string>

#include "kernels/quantize/group_scales.h"
#include "nibble/core/error.h"
#include "numerics/compat_qtorch.h"

namespace nibble::inline kernels {

void check_quantizable(const Format& format, const QuantizeOptions& options) {
  check_combination(format, options.rounding, options.overflow);
  check_scales_beside(format, options);
  if (options.compat == Compat::none && !describe(format.element).quantizes_fp32) {
    throw Error("quantize", "values of " + to_string(format) + " leave fp32", "fp32 output",
                "a format within fp32's range, or encode and decode to float64");
  }
}

void check_encodable(const Format& format, const QuantizeOptions& options) {
  check_combination(format, options.rounding, options.overflow);
  if (options.compat != Compat::none) {
    throw Error("encode", "compat mode", to_string(options.compat),
                "none: those packages have no codes");
  }
  if (const auto* grid = std::get_if<GridElement>(&format.element);
      grid != nullptr && !grid->clamps) {
    throw Error("encode", "format", to_string(format), "one that clamps: a code has a fixed width");
  }
}

void check_value_types(DType input, DType output) {
  if (input != DType::f32 && input != DType::f16 && input != DType::bf16) {
    throw Error("quantize", "type of the input", name_of(input), "f32, f16 or bf16");
  }
  if (output != DType::f32 && output != input) {
    throw Error("quantize", "type of the output", name_of(output),
                "f32 or " + std::string(name_of(input)));
  }
}

void check_compat_options(const Format& format, const QuantizeOptions& options) {
  check_compat(format, options.rounding, options.compat);
  if (!options.scales.empty() || !options.zeros.empty() || options.overflow != Overflow::native) {
    throw Error("quantize", "options under compat " + std::string(to_string(options.compat)),
                "scales, zero points or an overflow rule", "none: the package has its own");
  }
}

}  // namespace nibble::inline kernels
