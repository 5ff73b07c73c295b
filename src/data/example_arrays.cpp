// SPDX-License-Identifier: Apache-2.0
// Checks arrays of examples and gives them their shape and type.
#include "data/array_set.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

void check_finite(const Tensor& tensor, const std::string& name) {
  const auto values = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error("load_dataset", fmt::format("{}: element {}", name, i),
                  fmt::format("{}", values[i]), "a finite number", ErrorKind::input);
    }
  }
}

Tensor reshaped(Tensor tensor, const Shape& shape) {
  if (tensor.shape() == shape) return tensor;
  Tensor copy(tensor.dtype(), shape);
  std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

template <class T>
void convert(std::span<const T> from, std::span<std::int32_t> to, std::int64_t classes,
             const std::string& name) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::cmp_less(from[i], 0) || std::cmp_greater_equal(from[i], classes)) {
      throw Error("labels", fmt::format("{}: label {}", name, i), std::to_string(from[i]),
                  fmt::format("0 to {}", classes - 1), ErrorKind::input);
    }
    to[i] = static_cast<std::int32_t>(static_cast<std::make_unsigned_t<T>>(from[i]));
  }
}

}  // namespace

Tensor images_from(Tensor values, const std::string& name) {
  const bool is_float = values.dtype() == DType::f32;
  if (!is_float && values.dtype() != DType::u8) {
    throw Error("load_dataset", name + ": element type", name_of(values.dtype()), "u8 or f32",
                ErrorKind::input);
  }
  if (is_float) check_finite(values, name);
  const Shape shape = values.shape();
  if (shape.rank() == 4) return values;
  if (shape.rank() == 3) return reshaped(std::move(values), {shape[0], shape[1], shape[2], 1});
  if (shape.rank() == 2 && is_float) return reshaped(std::move(values), {shape[0], 1, 1, shape[1]});
  throw Error("load_dataset", name + ": shape", shape.to_string(),
              is_float ? "(n, k), (n, h, w) or (n, h, w, c)" : "(n, h, w) or (n, h, w, c)",
              ErrorKind::input);
}

Tensor targets_from(Tensor values, std::int64_t count, const std::string& name) {
  if (values.dtype() != DType::f32) {
    throw Error("load_dataset", name + ": element type", name_of(values.dtype()), "f32",
                ErrorKind::input);
  }
  const Shape shape = values.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || shape[0] != count) {
    throw Error("load_dataset", name + ": shape", shape.to_string(),
                fmt::format("({0},) or ({0}, k)", count), ErrorKind::input);
  }
  check_finite(values, name);
  return reshaped(std::move(values), {count, shape.rank() == 2 ? shape[1] : 1});
}

Tensor labels_from(ConstTensorView values, std::int64_t count, std::int64_t classes,
                   const std::string& name) {
  if (values.shape() != Shape{count}) {
    throw Error("labels", name + ": shape", values.shape().to_string(),
                fmt::format("({},), a label an image", count), ErrorKind::input);
  }
  Tensor labels(DType::i32, values.shape());
  const auto to = labels.as<std::int32_t>();
  switch (values.dtype()) {
    case DType::u8:
      convert(values.as<std::uint8_t>(), to, classes, name);
      break;
    case DType::i8:
      convert(values.as<std::int8_t>(), to, classes, name);
      break;
    case DType::u16:
      convert(values.as<std::uint16_t>(), to, classes, name);
      break;
    case DType::i16:
      convert(values.as<std::int16_t>(), to, classes, name);
      break;
    case DType::u32:
      convert(values.as<std::uint32_t>(), to, classes, name);
      break;
    case DType::i32:
      convert(values.as<std::int32_t>(), to, classes, name);
      break;
    case DType::u64:
      convert(values.as<std::uint64_t>(), to, classes, name);
      break;
    case DType::i64:
      convert(values.as<std::int64_t>(), to, classes, name);
      break;
    default:
      throw Error("labels", name + ": element type", name_of(values.dtype()), "integers",
                  ErrorKind::input);
  }
  return labels;
}

}  // namespace nibble::inline data
