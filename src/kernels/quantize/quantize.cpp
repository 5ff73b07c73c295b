// SPDX-License-Identifier: Apache-2.0
// Rounds arrays to formats: checks the call and chooses the path.
#include "nibble/kernels/quantize.h"

#include "kernels/quantize/check_call.h"
#include "kernels/quantize/group_scales.h"
#include "kernels/quantize/quantize_paths.h"
#include "kernels/quantize/widening.h"
#include "nibble/core/error.h"

namespace nibble::inline kernels {
namespace {

void quantize_floats(std::span<const float> input, std::span<float> output, const Shape& shape,
                     const Format& format, const QuantizeOptions& options) {
  const Grouping grouping = grouping_of(shape, format.scaling);
  if (options.compat != Compat::none) {
    quantize_by_compat(input, output, format, grouping, options);
    report_isa_used(Isa::reference);
    return;
  }
  const auto& [isa, kernels] = best_path(kQuantizePaths, active_isa());
  if (kernels != nullptr &&
      quantize_by_kernels(input, output, format, grouping, options, *kernels)) {
    report_isa_used(isa);
    return;
  }
  quantize_by_definition(input, output, format, grouping,
                         group_scales(input, format, grouping, options), options);
  report_isa_used(Isa::reference);
}

}  // namespace

void quantize(ConstTensorView input, TensorView output, const Format& format,
              const QuantizeOptions& options) {
  check_quantizable(format, options);
  if (input.shape() != output.shape()) {
    throw Error("quantize", "shape of the output", output.shape().to_string(),
                input.shape().to_string());
  }
  check_value_types(input.dtype(), output.dtype());
  if (input.elements() == 0) return;
  Tensor widened;
  const std::span<const float> values = as_floats(input, widened);
  if (output.dtype() == DType::f32) {
    quantize_floats(values, output.as<float>(), input.shape(), format, options);
    return;
  }
  quantize_floats(values, widened.as<float>(), input.shape(), format, options);  // in place
  narrow_floats(values, output);
}

}  // namespace nibble::inline kernels
