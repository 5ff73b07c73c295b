// SPDX-License-Identifier: Apache-2.0
// stats: what a format loses on an array.
#include <optional>
#include <string>

#include "nibble/kernels/quantize.h"
#include "python/src/arguments.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/checks.h"
#include "python/src/dense_floats.h"
#include "python/src/errors.h"

namespace nibble::python {
namespace {

constexpr std::string_view kStats = "stats";

void check_values(const Array& array, Argument argument) {
  check_value_type(array, argument);
  if (!array.is_on_cpu()) {
    throw StateMistake(kStats, std::string(argument.name) + "'s device",
                       device_text(array.device()), "cpu");
  }
}

// With what was given, or with what quantize makes of the input.
ErrorStatistics compare(const Array& input, const Array* given, const Format& format,
                        const QuantizeOptions& options) {
  const nb::gil_scoped_release others_may_run;
  const DenseFloats values(input);
  if (given != nullptr) {
    return error_statistics(values.view(), DenseFloats(*given).view(), format, options);
  }
  Tensor rounded(DType::f32, input.shape());
  quantize(values.view(), rounded.view(), format, options);
  return error_statistics(values.view(), rounded.view(), format, options);
}

nb::tuple to_tuple(const ErrorStatistics& s) {
  return nb::make_tuple(s.elements, s.non_finite, s.sqnr_db, s.max_abs_error, s.mean_abs_error,
                        s.mean_error, s.share_saturated, s.share_flushed);
}

nb::tuple statistics(nb::handle x, nb::handle fmt, nb::handle quantized, nb::handle rounding,
                     nb::handle overflow, nb::handle seed, nb::handle step, nb::handle stream,
                     nb::handle compat, nb::handle scales, nb::handle zeros) {
  const FormatReference format = format_of(fmt, kStats);
  const QuantizeOptions options =
      options_of({rounding, overflow, seed, step, stream, compat, scales, zeros}, kStats);
  const Array input(x, {kStats, "x"}, Access::read);
  check_values(input, {kStats, "x"});
  std::optional<Array> given;
  if (!quantized.is_none()) {
    given.emplace(quantized, Argument{kStats, "quantized"}, Access::read);
    check_values(*given, {kStats, "quantized"});
    check_shape(*given, input.shape(), {kStats, "quantized"});
  }
  return to_tuple(compare(input, given ? &*given : nullptr, format->format, options));
}

}  // namespace

void bind_stats(nb::module_& module) {
  const auto any = [](const char* name) { return nb::arg(name).none(); };
  module.def("stats", statistics, any("x"), any("fmt"), any("quantized"), any("rounding"),
             any("overflow"), any("seed"), any("step"), any("stream"), any("compat"), any("scales"),
             any("zeros"),
             nb::sig("def stats(x: object, fmt: object, quantized: object, rounding: object, "
                     "overflow: object, seed: object, step: object, stream: object, "
                     "compat: object, scales: object, zeros: object) -> "
                     "tuple[int, int, float, float, float, float, float, float]"));
}

}  // namespace nibble::python
