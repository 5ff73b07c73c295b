// SPDX-License-Identifier: Apache-2.0
// matmul: a matrix product whose sums are rounded too.
#include <limits>
#include <string>

#include "kernels/accumulate/sum_words.h"
#include "nibble/kernels/accumulate.h"
#include "numerics/words.h"
#include "python/src/arguments.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/checks.h"
#include "python/src/dense_floats.h"
#include "python/src/device_calls.h"
#include "python/src/errors.h"
#include "python/src/new_arrays.h"
#include "python/src/overlap.h"
#include "python/src/strided.h"

namespace nibble::python {
namespace {

constexpr std::string_view kMatmul = "matmul";

template <class Enum, std::size_t kCount>
Enum word_argument(const WordTable<Enum, kCount>& words, nb::handle object, std::string_view name) {
  const std::string_view text = text_of(object, kMatmul, name);
  if (const auto value = value_of(words, text)) return *value;
  throw Error(kMatmul, name, "'" + std::string(text) + "'", list_of(words));
}

void check_matrix(const Array& array, Argument argument) {
  check_value_type(array, argument);
  if (array.shape().rank() == 2) return;
  throw Error(kMatmul, std::string(argument.name) + "'s shape", array.shape().to_string(),
              "a matrix");
}

void matmul_on_cpu(const Array& a, const Array& b, const Array& output,
                   const Accumulator& accumulator) {
  const nb::gil_scoped_release others_may_run;
  const DenseFloats left(a);
  const DenseFloats right(b);
  if (output.is_contiguous()) {
    matmul(left.view(), right.view(), output.mutable_view(), accumulator);
    return;
  }
  Tensor product(DType::f32, output.shape());
  matmul(left.view(), right.view(), product.view(), accumulator);
  scatter(product.view(), output);
}

void multiply(const Array& a, const Array& b, const Array& output, const Accumulator& accumulator) {
  if (a.is_on_cpu()) {
    matmul_on_cpu(a, b, output, accumulator);
  } else {
    matmul_on_device(a, b, output, accumulator);
  }
}

void check_output(const Array& a, const Array& b, const Array& output, const Shape& shape) {
  constexpr Argument kOut{kMatmul, "out"};
  check_same_device(a, output, kOut);
  check_shape(output, shape, kOut);
  check_output_type(output, DType::f32, kOut);
  check_own_memory(output, kOut);
  check_apart(a, output, kOut, false);
  check_apart(b, output, kOut, false);
}

nb::object multiply_arrays(nb::handle a, nb::handle b, nb::handle format, nb::handle product,
                           nb::handle rounding, nb::handle overflow, nb::handle method,
                           nb::handle order, nb::handle chunk, nb::handle seed, nb::handle step,
                           nb::handle stream, nb::handle out) {
  const FormatReference sums = format_of(format, kMatmul, "accumulator");
  Accumulator accumulator = accumulator_of(sums->format);
  if (!product.is_none()) {
    accumulator.product_format = format_of(product, kMatmul, "product")->format;
  }
  accumulator.rounding = parse_rounding(text_of(rounding, kMatmul, "rounding"));
  accumulator.overflow = parse_overflow(text_of(overflow, kMatmul, "overflow"));
  accumulator.method = word_argument(kSumMethods, method, "method");
  accumulator.order = word_argument(kSumOrders, order, "order");
  accumulator.chunk =
      static_cast<int>(integer_of(chunk, kMatmul, "chunk", std::numeric_limits<int>::max()));
  accumulator.random = random_of(seed, step, stream, kMatmul);

  const Array left(a, {kMatmul, "a"}, Access::read);
  const Array right(b, {kMatmul, "b"}, Access::read);
  check_matrix(left, {kMatmul, "a"});
  check_matrix(right, {kMatmul, "b"});
  check_same_device(left, right, {kMatmul, "b"});
  if (left.shape()[1] != right.shape()[0]) {
    throw Error(kMatmul, "b's rows", std::to_string(right.shape()[0]),
                std::to_string(left.shape()[1]) + ", the columns of a");
  }
  const Shape shape{left.shape()[0], right.shape()[1]};
  if (out.is_none()) {
    nb::object result = left.is_on_cpu() ? empty_array(left.kind(), DType::f32, shape)
                                         : empty_on_device(left, DType::f32, shape);
    multiply(left, right, Array(result, {kMatmul, "out"}, Access::write), accumulator);
    return result;
  }
  const Array output(out, {kMatmul, "out"}, Access::write);
  check_output(left, right, output, shape);
  multiply(left, right, output, accumulator);
  note_written(output);
  return nb::borrow(out);
}

}  // namespace

void bind_matmul(nb::module_& module) {
  const auto any = [](const char* name) { return nb::arg(name).none(); };
  module.def("matmul", multiply_arrays, any("a"), any("b"), any("format"), any("product"),
             any("rounding"), any("overflow"), any("method"), any("order"), any("chunk"),
             any("seed"), any("step"), any("stream"), any("out"));
}

}  // namespace nibble::python
