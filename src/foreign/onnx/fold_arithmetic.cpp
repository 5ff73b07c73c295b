// SPDX-License-Identifier: Apache-2.0
// Folds arithmetic on constants, with ONNX's broadcasting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "foreign/onnx/fold.h"
#include "foreign/onnx/strided_copy.h"

namespace nibble::inline foreign {
namespace {

Shape broadcast_shape(const NodeView& node, const Shape& a, const Shape& b) {
  Extents extents(std::max(a.rank(), b.rank()), 1);
  for (const Shape* shape : {&a, &b}) {
    const std::size_t skipped = extents.size() - shape->rank();
    for (std::size_t i = 0; i < shape->rank(); ++i) {
      std::int64_t& extent = extents[skipped + i];
      if (extent == 1) extent = (*shape)[i];
      if ((*shape)[i] != 1 && (*shape)[i] != extent) {
        node.fail("shapes", a.to_string() + " and " + b.to_string(), "ones that fit");
      }
    }
  }
  return Shape(extents);
}

Constant expanded(const Constant& constant, const Shape& shape) {
  const std::size_t skipped = shape.rank() - constant.shape().rank();
  const Extents own = strides_of(constant.shape());
  Extents strides(shape.rank());
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (constant.shape()[i] != 1) strides[skipped + i] = own[i];
  }
  return {std::make_shared<const Tensor>(strided_copy(constant.tensor->view(), shape, 0, strides)),
          constant.type};
}

std::int64_t wrapped(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}

struct Sum {
  static float of(float a, float b) { return a + b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Difference {
  static float of(float a, float b) { return a - b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return wrapped(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};
struct Product {
  static float of(float a, float b) { return a * b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
struct Quotient {  // of integers toward zero; callers have seen that b is neither 0 nor -1
  static float of(float a, float b) { return a / b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return b == -1 ? Difference::of(0, a) : a / b;
  }
};

template <class Operation>
Constant fold_two(const FoldArguments& arguments) {
  const Constant& a = arguments.input(0);
  const Constant& b = arguments.input(1);
  const Shape shape = broadcast_shape(arguments.node, a.shape(), b.shape());
  arguments.budget.take(shape.elements());
  const Constant left = expanded(a, shape);
  const Constant right = expanded(b, shape);
  const auto apply = [&](const auto& x, const auto& y) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    Tensor result(DTypeOf<T>::value, shape);
    const auto out = result.as<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Operation::of(x[i], y[i]);
    return constant_of(std::move(result));
  };
  if (a.is_float() || b.is_float()) return apply(to_reals(left), to_reals(right));
  const std::vector<std::int64_t> divisors = to_integers(right);
  if (std::is_same_v<Operation, Quotient> && std::ranges::find(divisors, 0) != divisors.end()) {
    arguments.node.fail("divisor", "0", "another number");
  }
  return apply(to_integers(left), divisors);
}

Constant fold_floor(const FoldArguments& arguments) {
  const Constant& x = arguments.input(0);
  arguments.budget.take(x.shape().elements());
  Tensor result(DType::f32, x.shape());
  std::ranges::transform(to_reals(x), result.as<float>().begin(),
                         [](float each) { return std::floor(each); });
  return constant_of(std::move(result));
}

std::int64_t truncated(float x) {
  if (std::isnan(x)) return 0;
  if (x >= 0x1p63F) return std::numeric_limits<std::int64_t>::max();
  if (x <= -0x1p63F) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

Constant fold_cast(const FoldArguments& arguments) {
  const Constant& x = arguments.input(0);
  using Types = onnx::TensorProto;
  const std::int64_t to = arguments.node.integer("to", 0);
  arguments.budget.take(x.shape().elements());
  if (to == Types::FLOAT || to == Types::DOUBLE || to == Types::FLOAT16) {
    Tensor result(DType::f32, x.shape());
    std::ranges::copy(to_reals(x), result.as<float>().begin());
    return constant_of(std::move(result));
  }
  if (to != Types::INT64 && to != Types::INT32)
    throw Unsupported{"to a type beyond the plain ones"};
  Tensor result(DType::i64, x.shape());
  if (x.is_float()) {
    std::ranges::transform(to_reals(x), result.as<std::int64_t>().begin(), truncated);
  } else {
    std::ranges::copy(to_integers(x), result.as<std::int64_t>().begin());
  }
  return constant_of(std::move(result));
}

}  // namespace

Folder find_arithmetic(std::string_view op) {
  if (op == "Add") return fold_two<Sum>;
  if (op == "Sub") return fold_two<Difference>;
  if (op == "Mul") return fold_two<Product>;
  if (op == "Div") return fold_two<Quotient>;
  if (op == "Floor") return fold_floor;
  if (op == "Cast") return fold_cast;
  return nullptr;
}

}  // namespace nibble::inline foreign
