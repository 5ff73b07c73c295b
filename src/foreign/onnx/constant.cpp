// SPDX-License-Identifier: Apache-2.0
// Unpacks tensors of ONNX files. No memory is taken before the bytes for it are seen.
#include "foreign/onnx/constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "core/half.h"
#include "foreign/onnx/external_data.h"
#include "graph/node_error.h"
#include "nibble/core/error.h"

namespace nibble::inline foreign {
namespace {

using Proto = onnx::TensorProto;

[[noreturn]] void fail(const Proto& proto, std::string_view what, std::string_view got,
                       std::string_view expected) {
  throw Error("read_onnx", fmt::format("tensor {}: {}", in_quotes(proto.name()), what), got,
              expected, ErrorKind::input);
}

bool is_four_bit(int type) {
  return type == kUint4Type || type == kInt4Type;
}

// Bytes of one element in the file; 0: no type that is known here.
std::size_t stored_size(int type) {
  switch (type) {
    case Proto::UINT8:
    case Proto::INT8:
    case Proto::BOOL:
    case kUint4Type:
    case kInt4Type:
      return 1;
    case Proto::UINT16:
    case Proto::INT16:
    case Proto::FLOAT16:
    case Proto::BFLOAT16:
      return 2;
    case Proto::FLOAT:
    case Proto::INT32:
    case Proto::UINT32:
      return 4;
    case Proto::DOUBLE:
    case Proto::INT64:
    case Proto::UINT64:
      return 8;
    default:
      return 0;
  }
}

template <class T, class List>
std::string bytes_of(const List& list) {
  std::string bytes(static_cast<std::size_t>(list.size()) * sizeof(T), '\0');
  std::size_t at = 0;
  for (const auto each : list) {
    const T narrow = static_cast<T>(each);
    std::memcpy(bytes.data() + at, &narrow, sizeof(T));
    at += sizeof(T);
  }
  return bytes;
}

// The list of numbers that a type uses where there is no raw data.
std::string listed_bytes(const Proto& proto) {
  switch (proto.data_type()) {
    case Proto::FLOAT:
      return bytes_of<float>(proto.float_data());
    case Proto::DOUBLE:
      return bytes_of<double>(proto.double_data());
    case Proto::INT64:
      return bytes_of<std::int64_t>(proto.int64_data());
    case Proto::UINT32:
      return bytes_of<std::uint32_t>(proto.uint64_data());
    case Proto::UINT64:
      return bytes_of<std::uint64_t>(proto.uint64_data());
    case Proto::INT32:
      return bytes_of<std::int32_t>(proto.int32_data());
    default:
      return stored_size(proto.data_type()) == 2 ? bytes_of<std::uint16_t>(proto.int32_data())
                                                 : bytes_of<std::uint8_t>(proto.int32_data());
  }
}

template <class Stored, class T, class Convert>
Tensor unpacked(std::string_view bytes, const Shape& shape, Convert convert) {
  Tensor tensor(DTypeOf<T>::value, shape);
  const auto out = tensor.as<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
  return tensor;
}

template <class Stored, class T>
Tensor unpacked(std::string_view bytes, const Shape& shape) {
  return unpacked<Stored, T>(bytes, shape, [](Stored x) { return static_cast<T>(x); });
}

template <class T>
Tensor unpacked_halves(std::string_view bytes, const Shape& shape) {
  Tensor tensor(DTypeOf<T>::value, shape);
  const auto out = tensor.as<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int half = (static_cast<unsigned char>(bytes[i / 2]) >> (i % 2 * 4)) & 15;
    out[i] = static_cast<T>(std::is_signed_v<T> && half > 7 ? half - 16 : half);
  }
  return tensor;
}

Tensor unpack(int type, std::string_view bytes, const Shape& shape) {
  switch (type) {
    case Proto::FLOAT:
      return unpacked<float, float>(bytes, shape);
    case Proto::DOUBLE:
      return unpacked<double, float>(bytes, shape);
    case Proto::FLOAT16:
      return unpacked<std::uint16_t, float>(bytes, shape, float_from_half);
    case Proto::BFLOAT16:
      return unpacked<std::uint16_t, float>(bytes, shape, float_from_bfloat);
    case Proto::INT8:
      return unpacked<std::int8_t, std::int8_t>(bytes, shape);
    case Proto::UINT8:
    case Proto::BOOL:
      return unpacked<std::uint8_t, std::uint8_t>(bytes, shape);
    case kInt4Type:
      return unpacked_halves<std::int8_t>(bytes, shape);
    case kUint4Type:
      return unpacked_halves<std::uint8_t>(bytes, shape);
    case Proto::INT32:
      return unpacked<std::int32_t, std::int32_t>(bytes, shape);
    case Proto::INT16:
      return unpacked<std::int16_t, std::int64_t>(bytes, shape);
    case Proto::UINT16:
      return unpacked<std::uint16_t, std::int64_t>(bytes, shape);
    case Proto::UINT32:
      return unpacked<std::uint32_t, std::int64_t>(bytes, shape);
    default:
      return unpacked<std::int64_t, std::int64_t>(bytes, shape);
  }
}

}  // namespace

Constant constant_from(const Proto& proto, ExternalFiles& beside) {
  const int type = proto.data_type();
  if (stored_size(type) == 0) {
    fail(proto, "type", fmt::format("{}", type), "a type of numbers up to 64 bits");
  }
  const Shape shape(std::span<const std::int64_t>(proto.dims().data(),
                                                  static_cast<std::size_t>(proto.dims().size())));
  const auto elements = static_cast<std::size_t>(shape.elements());
  const std::size_t size =
      is_four_bit(type) ? elements / 2 + elements % 2 : elements * stored_size(type);
  std::string own;
  const std::string* bytes = &own;
  if (proto.data_location() == Proto::EXTERNAL) {
    own = beside.read(proto, size);
  } else if (proto.has_raw_data()) {
    bytes = &proto.raw_data();
  } else {
    own = listed_bytes(proto);
  }
  if (bytes->size() != size) {
    fail(proto, fmt::format("data of shape {}", shape.to_string()),
         fmt::format("{} bytes", bytes->size()), std::to_string(size));
  }
  return {std::make_shared<const Tensor>(unpack(type, *bytes, shape)), type};
}

Constant constant_of(Tensor tensor) {
  const int type = tensor.dtype() == DType::f32 ? Proto::FLOAT : Proto::INT64;
  return {std::make_shared<const Tensor>(std::move(tensor)), type};
}

Constant constant_of(std::span<const std::int64_t> list) {
  return constant_of(copy_of(view_of(list)));
}

std::vector<std::int64_t> to_integers(const Constant& constant) {
  const Tensor& tensor = *constant.tensor;
  const auto widened = [](const auto& values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  switch (tensor.dtype()) {
    case DType::i8:
      return widened(tensor.as<std::int8_t>());
    case DType::u8:
      return widened(tensor.as<std::uint8_t>());
    case DType::i32:
      return widened(tensor.as<std::int32_t>());
    default:
      return widened(tensor.as<std::int64_t>());
  }
}

std::vector<float> to_reals(const Constant& constant) {
  if (constant.is_float()) {
    const auto values = constant.tensor->as<float>();
    return {values.begin(), values.end()};
  }
  std::vector<float> reals;
  for (const std::int64_t each : to_integers(constant)) reals.push_back(static_cast<float>(each));
  return reals;
}

}  // namespace nibble::inline foreign
