// SPDX-License-Identifier: Apache-2.0
// NumPy arrays by the buffer protocol; bfloat16, which that does not know, as its bits.
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "python/src/array.h"
#include "python/src/errors.h"
#include "python/src/modules.h"

namespace nibble::python {
namespace {

// The letters of the struct module, as far as they have one meaning on every machine.
std::optional<DType> dtype_of_format(const char* format, std::int64_t size) {
  if (format == nullptr) return DType::u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  const auto sized = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : one;
  };
  switch (format[0]) {
    case 'f':
      return DType::f32;
    case 'e':
      return DType::f16;
    case 'd':
      return DType::f64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return sized(DType::u8, DType::u16, DType::u32, DType::u64);
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return sized(DType::i8, DType::i16, DType::i32, DType::i64);
    default:
      return std::nullopt;
  }
}

std::string dtype_text(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(nb::str(dtype));
}

bool is_bfloat(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(dtype.attr("name")) == "bfloat16" &&
         nb::cast<std::int64_t>(dtype.attr("itemsize")) == 2;
}

}  // namespace

void Array::take_buffer(nb::handle exporter, Access access) {
  const int flags = access == Access::write ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  if (PyObject_GetBuffer(exporter.ptr(), &loan_.buffer, flags) != 0) {
    loan_.buffer.obj = nullptr;
    throw nb::python_error();
  }
}

void Array::take_numpy(Argument argument, Access access) {
  nb::object bits;  // of bfloat16
  try {
    take_buffer(object_, access);
  } catch (nb::python_error&) {
    if (access == Access::write && !is_true(object_.attr("flags").attr("writeable"))) {
      throw Error(argument.function, argument.name, "a read-only array", "one that can be written");
    }
    if (!is_bfloat(object_)) {
      throw TypeMistake(argument.function, std::string(argument.name) + "'s dtype",
                        dtype_text(object_), std::string(argument.types));
    }
    bits = object_.attr("view")("uint16");
    take_buffer(bits, access);
  }
  const std::optional<DType> found = dtype_of_format(loan_.buffer.format, loan_.buffer.itemsize);
  if (!found) {
    throw TypeMistake(argument.function, std::string(argument.name) + "'s dtype",
                      dtype_text(object_), std::string(argument.types));
  }
  dtype_ = bits.is_valid() ? DType::bf16 : *found;
  data_ = loan_.buffer.buf;
  shape_ = shape_of(argument, loan_.buffer.shape, loan_.buffer.ndim);
  for (std::size_t axis = 0; axis < shape_.rank(); ++axis)
    strides_[axis] = loan_.buffer.strides[axis];
  find_contiguous();
}

nb::object numpy_dtype(DType dtype) {
  if (dtype == DType::bf16) throw StateMistake("array", "bfloat16 has no NumPy type");
  static constexpr const char* kNames[] = {"float32", "float64", "float16", nullptr,
                                           "int8",    "uint8",   "int16",   "uint16",
                                           "int32",   "uint32",  "int64",   "uint64"};
  return nb::str(kNames[static_cast<std::size_t>(dtype)]);
}

}  // namespace nibble::python
