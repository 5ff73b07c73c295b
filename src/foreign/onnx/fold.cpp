// SPDX-License-Identifier: Apache-2.0
// Folds what only moves constants about: shapes, slices, joins.
#include "foreign/onnx/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "foreign/onnx/strided_copy.h"

namespace nibble::inline foreign {
namespace {

Constant with_type(Tensor tensor, int type) {
  return {std::make_shared<const Tensor>(std::move(tensor)), type};
}

Constant with_extents(const FoldArguments& arguments, const Extents& extents) {
  const Constant& from = arguments.input(0);
  arguments.budget.take(from.shape().elements());
  return with_type(reshaped(from.tensor->view(), Shape(extents)), from.type);
}

Constant fold_identity(const FoldArguments& arguments) {
  return arguments.input(0);
}

Constant fold_constant(const FoldArguments& arguments) {
  const NodeView& node = arguments.node;
  if (const auto* tensor = node.tensor("value")) return constant_from(*tensor, arguments.beside);
  if (const auto list = node.integers("value_ints")) return constant_of(*list);
  if (const auto list = node.reals("value_floats")) {
    return constant_of(copy_of(view_of(std::span<const float>(*list))));
  }
  if (node.has("value_float")) {
    Tensor scalar(DType::f32, Shape{});
    scalar.as<float>()[0] = node.real("value_float", 0);
    return constant_of(std::move(scalar));
  }
  if (node.has("value_int")) {
    Tensor scalar(DType::i64, Shape{});
    scalar.as<std::int64_t>()[0] = node.integer("value_int", 0);
    return constant_of(std::move(scalar));
  }
  throw Unsupported{"that is no number"};
}

Constant fold_constant_of_shape(const FoldArguments& arguments) {
  const Shape shape(to_integers(arguments.input(0)));
  arguments.budget.take(shape.elements());
  const auto* proto = arguments.node.tensor("value");
  if (proto == nullptr) {
    Tensor zeros(DType::f32, shape);
    std::ranges::fill(zeros.as<float>(), 0.0F);
    return constant_of(std::move(zeros));
  }
  const Constant value = constant_from(*proto, arguments.beside);
  if (value.shape().elements() != 1) {
    arguments.node.fail("value", value.shape().to_string(), "one number");
  }
  const Extents strides(shape.rank(), 0);
  return with_type(strided_copy(value.tensor->view(), shape, 0, strides), value.type);
}

Constant fold_shape(const FoldArguments& arguments) {
  return constant_of(shape_list(arguments.node, extents_of(arguments.input(0).shape())));
}

Constant fold_reshape(const FoldArguments& arguments) {
  return with_extents(arguments, reshaped_extents(arguments.node, arguments.inputs,
                                                  extents_of(arguments.input(0).shape())));
}

Constant fold_squeeze(const FoldArguments& arguments) {
  return with_extents(arguments, squeezed_extents(arguments.node, arguments.inputs,
                                                  extents_of(arguments.input(0).shape())));
}

Constant fold_unsqueeze(const FoldArguments& arguments) {
  return with_extents(arguments, unsqueezed_extents(arguments.node, arguments.inputs,
                                                    extents_of(arguments.input(0).shape())));
}

Constant fold_transpose(const FoldArguments& arguments) {
  const Constant& from = arguments.input(0);
  const std::size_t rank = from.shape().rank();
  Extents axes;
  for (std::size_t i = rank; i-- > 0;) axes.push_back(static_cast<std::int64_t>(i));
  if (const auto given = arguments.node.integers("perm")) {
    Extents sorted = *given;
    std::ranges::sort(sorted);
    if (!std::equal(sorted.begin(), sorted.end(), axes.rbegin(), axes.rend())) {
      arguments.node.fail("perm", fmt::format("({})", fmt::join(*given, ", ")),
                          fmt::format("all of {} axes, each once", rank));
    }
    axes = *given;
  }
  arguments.budget.take(from.shape().elements());
  return with_type(transposed(from.tensor->view(), axes), from.type);
}

Constant fold_slice(const FoldArguments& arguments) {
  const Constant& from = arguments.input(0);
  const std::vector<SliceRange> ranges =
      slice_ranges(arguments.node, arguments.inputs, extents_of(from.shape()));
  Extents strides = strides_of(from.shape());
  Extents extents;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    offset += ranges[i].begin * strides[i];
    // A range of one number never steps, and its step may be of any size.
    strides[i] *= ranges[i].count > 1 ? ranges[i].step : 0;
    extents.push_back(ranges[i].count);
  }
  const Shape shape(extents);
  arguments.budget.take(shape.elements());
  return with_type(strided_copy(from.tensor->view(), shape, offset, strides), from.type);
}

// Elements before and after an axis.
std::array<std::int64_t, 2> around(const Shape& shape, std::size_t axis) {
  std::array<std::int64_t, 2> products{1, 1};
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i != axis) products[i < axis ? 0 : 1] *= shape[i];
  }
  return products;
}

Constant fold_gather(const FoldArguments& arguments) {
  const Constant& from = arguments.input(0);
  const Constant& at = arguments.input(1);
  const std::size_t axis =
      axis_of(arguments.node, arguments.node.integer("axis", 0), from.shape().rank());
  Extents extents = extents_of(from.shape());
  const auto position = extents.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::int64_t extent = *position;
  const Extents middle = extents_of(at.shape());
  extents.insert(extents.erase(position), middle.begin(), middle.end());
  const Shape shape(extents);
  arguments.budget.take(shape.elements());
  Tensor result(from.tensor->dtype(), shape);
  const auto [outer, inner] = around(from.shape(), axis);
  const std::size_t run = static_cast<std::size_t>(inner) * size_of(result.dtype());
  const std::vector<std::int64_t> indices = to_integers(at);
  std::byte* to = result.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t each : indices) {
      const std::int64_t index = each < 0 ? each + extent : each;
      if (index < 0 || index >= extent) {
        arguments.node.fail("index", std::to_string(each), fmt::format("one of {}", extent));
      }
      if (run > 0) {
        std::memcpy(to, from.tensor->data() + static_cast<std::size_t>(o * extent + index) * run,
                    run);
      }
      to += run;
    }
  }
  return with_type(std::move(result), from.type);
}

bool fits_but_for(std::size_t axis, const Constant& a, const Constant& b) {
  if (a.shape().rank() != b.shape().rank() || a.tensor->dtype() != b.tensor->dtype()) return false;
  for (std::size_t i = 0; i < a.shape().rank(); ++i) {
    if (i != axis && a.shape()[i] != b.shape()[i]) return false;
  }
  return true;
}

Constant fold_concat(const FoldArguments& arguments) {
  const NodeView& node = arguments.node;
  const Constant& first = arguments.input(0);
  const std::size_t axis = axis_of(node, node.integer("axis", 0), first.shape().rank());
  Extents extents = extents_of(first.shape());
  extents[axis] = 0;
  for (std::size_t k = 0; k < arguments.inputs.size(); ++k) {
    const Constant& each = arguments.input(k);
    if (!fits_but_for(axis, each, first)) {
      node.fail(fmt::format("input {}", k), each.shape().to_string(),
                fmt::format("one that fits {}", first.shape().to_string()));
    }
    extents[axis] += each.shape()[axis];
    (void)Shape(extents);  // throws long before the sum overflows
  }
  const Shape shape(extents);
  arguments.budget.take(shape.elements());
  Tensor result(first.tensor->dtype(), shape);
  const auto [outer, inner] = around(shape, axis);
  std::byte* to = result.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const Constant* each : arguments.inputs) {
      const std::size_t run =
          static_cast<std::size_t>(each->shape()[axis] * inner) * size_of(result.dtype());
      if (run > 0) std::memcpy(to, each->tensor->data() + static_cast<std::size_t>(o) * run, run);
      to += run;
    }
  }
  return with_type(std::move(result), first.type);
}

}  // namespace

const Constant& FoldArguments::input(std::size_t i) const {
  if (i >= inputs.size() || inputs[i] == nullptr) {
    node.fail(fmt::format("input {}", i), "none", "a constant");
  }
  return *inputs[i];
}

Folder find_folder(std::string_view op) {
  constexpr std::pair<std::string_view, Folder> kRules[] = {
      {"Identity", fold_identity},   {"Constant", fold_constant},
      {"Shape", fold_shape},         {"ConstantOfShape", fold_constant_of_shape},
      {"Reshape", fold_reshape},     {"Squeeze", fold_squeeze},
      {"Unsqueeze", fold_unsqueeze}, {"Transpose", fold_transpose},
      {"Slice", fold_slice},         {"Gather", fold_gather},
      {"Concat", fold_concat},
  };
  for (const auto& [name, folder] : kRules) {
    if (name == op) return folder;
  }
  return find_arithmetic(op);
}

}  // namespace nibble::inline foreign
