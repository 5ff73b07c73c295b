// SPDX-License-Identifier: Apache-2.0
// Checks and widens labels.
#include "data/labels.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "nibble/core/error.h"

namespace nibble::inline data {
namespace {

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
