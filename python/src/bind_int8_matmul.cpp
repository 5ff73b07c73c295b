// SPDX-License-Identifier: Apache-2.0
// int8_matmul: the exact product of int8 matrices on the CPU.
#include <string>

#include "kernels/products/matrix_product.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/errors.h"

namespace nibble::python {
namespace {

constexpr std::string_view kFunction = "int8_matmul";

template <class Value>
std::span<Value> values_of(const Array& array) {
  return {reinterpret_cast<Value*>(array.data()),
          static_cast<std::size_t>(array.shape().elements())};
}

// Python has checked and laid out what comes here; this is the last line of defence.
void check_operand(const Array& array, DType dtype, Argument argument) {
  if (array.dtype() == dtype && array.shape().rank() == 2 && array.is_contiguous() &&
      array.is_on_cpu())
    return;
  throw Error(kFunction, std::string(argument.name), array.shape().to_string(),
              "a dense matrix of int8, and of int32 for out, on the CPU");
}

void multiply(nb::handle a, nb::handle b, nb::handle out) {
  const Array left(a, {kFunction, "a"}, Access::read);
  const Array right(b, {kFunction, "b"}, Access::read);
  const Array sums(out, {kFunction, "out"}, Access::write);
  check_operand(left, DType::i8, {kFunction, "a"});
  check_operand(right, DType::i8, {kFunction, "b"});
  check_operand(sums, DType::i32, {kFunction, "out"});
  const MatrixProductShape shape{left.shape()[0], left.shape()[1], right.shape()[1]};
  if (right.shape()[0] != shape.depth || sums.shape() != Shape{shape.rows, shape.columns})
    throw Error(kFunction, "b's shape", right.shape().to_string(),
                std::to_string(shape.depth) + " rows and the columns of out");
  const nb::gil_scoped_release others_may_run;
  multiply_matrices(values_of<const std::int8_t>(left), values_of<const std::int8_t>(right), shape,
                    values_of<std::int32_t>(sums));
}

}  // namespace

void bind_int8_matmul(nb::module_& module) {
  module.def("int8_matmul", multiply, nb::arg("a"), nb::arg("b"), nb::arg("out"));
}

}  // namespace nibble::python
