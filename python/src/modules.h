// SPDX-License-Identifier: Apache-2.0
// NumPy and torch as seen from the extension: what is looked up once and kept.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "nibble/core/dtype.h"
#include "python/src/dlpack.h"

namespace nibble::python {

namespace nb = nanobind;

// An attribute name, made once.
class Name {
 public:
  explicit Name(const char* text) : object_(PyUnicode_InternFromString(text)) {}
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;  // lives as long as the process
};

// object.name() without arguments.
inline nb::object call_method(nb::handle object, const Name& name) {
  PyObject* arguments[] = {object.ptr()};
  PyObject* result =
      PyObject_VectorcallMethod(name.get(), arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

inline nb::object attribute(nb::handle object, const Name& name) {
  PyObject* result = PyObject_GetAttr(object.ptr(), name.get());
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

inline bool is_true(nb::handle object) {
  const int answer = PyObject_IsTrue(object.ptr());
  if (answer < 0) throw nb::python_error();
  return answer == 1;
}

struct NumPy {
  PyTypeObject* array_type;
  nb::handle empty_like;
  nb::handle empty;
};
const NumPy& numpy();

struct Torch {
  nb::handle module;
  PyTypeObject* tensor_type;
  nb::handle empty_like;
  nb::handle empty;
  nb::handle strided;
  nb::handle int8, uint8, int16, int32, f16, bf16, f32, f64, int64;
  nb::handle current_stream;  // of a device index; null in builds without CUDA
  PyTypeObject* parameter_type;
  const dlpack::ExchangeApi* exchange;  // null before torch 2.10

  // Whether `exchange` may be asked about it: subclasses answer for themselves.
  bool is_plain(nb::handle tensor) const {
    const PyTypeObject* type = Py_TYPE(tensor.ptr());
    return exchange != nullptr && (type == tensor_type || type == parameter_type);
  }
  std::optional<DType> dtype_of(nb::handle dtype) const;
  nb::handle of(DType dtype) const;  // the type of as many bytes where torch may lack it
};

// Null unless the program has imported torch: Nibble never does.
const Torch* torch();

}  // namespace nibble::python
