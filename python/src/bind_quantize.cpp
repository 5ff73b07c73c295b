// SPDX-License-Identifier: Apache-2.0
// quantize: values rounded to a format, in the array that asked or in one like it.
#include <optional>
#include <string>

#include "nibble/kernels/quantize.h"
#include "python/src/arguments.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/checks.h"
#include "python/src/device_calls.h"
#include "python/src/modules.h"
#include "python/src/overlap.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

constexpr std::string_view kQuantize = "quantize";

// No element depends on another one or on its index.
bool is_elementwise(const Format& format, const QuantizeOptions& options) {
  const bool is_one_scale =
      format.scaling.kind == ScaleKind::given && format.scaling.granularity == Granularity::tensor;
  return (format.scaling.kind == ScaleKind::none || is_one_scale) &&
         !options.rounding.is_stochastic() && options.compat == Compat::none;
}

void quantize_on_cpu(const Array& input, const Array& output, const Format& format,
                     const QuantizeOptions& options) {
  constexpr std::int64_t kShort = 1 << 12;  // done sooner than threads take turns
  std::optional<nb::gil_scoped_release> others_may_run;
  if (input.shape().elements() > kShort) others_may_run.emplace();
  if (input.is_contiguous() && output.is_contiguous()) {
    quantize(input.view(), output.mutable_view(), format, options);
    return;
  }
  if (is_elementwise(format, options) && share_dense_layout(input, output)) {
    const Shape flat{input.shape().elements()};
    quantize(ConstTensorView(input.data(), input.dtype(), flat),
             TensorView(output.data(), output.dtype(), flat), format, options);
    return;
  }
  Tensor gathered;
  const ConstTensorView values = dense(input, gathered);
  if (output.is_contiguous()) {
    quantize(values, output.mutable_view(), format, options);
    return;
  }
  Tensor rounded(output.dtype(), output.shape());
  quantize(values, rounded.view(), format, options);
  scatter(rounded.view(), output);
}

void check_output(const Array& input, const Array& output) {
  constexpr Argument kOut{kQuantize, "out"};
  check_same_device(input, output, kOut);
  check_shape(output, input.shape(), kOut);
  check_output_type(output, input.dtype(), kOut);
  check_own_memory(output, kOut);
  check_apart(input, output, kOut, true);
}

void quantize_into(const Array& input, const Array& output, const Format& format,
                   const QuantizeOptions& options) {
  if (input.is_on_cpu()) {
    quantize_on_cpu(input, output, format, options);
  } else {
    quantize_on_device(input, output, format, options);
  }
}

nb::object quantize_array(nb::handle x, nb::handle fmt, nb::handle rounding, nb::handle overflow,
                          nb::handle seed, nb::handle step, nb::handle stream, nb::handle compat,
                          nb::handle scales, nb::handle zeros, nb::handle out) {
  const FormatReference format = format_of(fmt, kQuantize);
  const QuantizeOptions options =
      options_of({rounding, overflow, seed, step, stream, compat, scales, zeros}, kQuantize);
  const Array input(x, {kQuantize, "x"}, Access::read);
  check_value_type(input, {kQuantize, "x"});
  if (out.is_none()) {
    nb::object result = empty_like(input);
    quantize_into(input, Array(result, input), format->format, options);
    return result;
  }
  const Array output(out, {kQuantize, "out"}, Access::write);
  check_output(input, output);
  quantize_into(input, output, format->format, options);
  note_written(output);
  return nb::borrow(out);
}

}  // namespace

void bind_quantize(nb::module_& module) {
  const auto any = [](const char* name) { return nb::arg(name).none(); };
  module.def("quantize", quantize_array, any("x"), any("fmt"), any("rounding"), any("overflow"),
             any("seed"), any("step"), any("stream"), any("compat"), any("scales"), any("zeros"),
             any("out"),
             nb::sig("def quantize(x: object, fmt: object, rounding: object, overflow: object, "
                     "seed: object, step: object, stream: object, compat: object, scales: object, "
                     "zeros: object, out: object) -> typing.Any"));
}

}  // namespace nibble::python
