// SPDX-License-Identifier: Apache-2.0
// Recognizes arrays by their type, cheapest first.
#include <nanobind/stl/string.h>

#include "python/src/array.h"

#include <algorithm>

#include "nibble/core/error.h"
#include "python/src/errors.h"
#include "python/src/modules.h"
#include "python/src/new_arrays.h"

namespace nibble::python {
namespace {

bool is_instance(nb::handle object, PyTypeObject* type) {
  PyTypeObject* own = Py_TYPE(object.ptr());
  return own == type || PyType_IsSubtype(own, type) != 0;
}

}  // namespace

Array::Array(nb::handle object, Argument argument, Access access) : object_(object) {
  if (is_instance(object, numpy().array_type)) {
    kind_ = Kind::numpy;
    take_numpy(argument, access);
  } else if (const Torch* module = torch(); module && is_instance(object, module->tensor_type)) {
    kind_ = Kind::torch;
    take_torch(argument, access);
  } else {
    kind_ = Kind::other;
    take_dlpack(argument, access);
  }
}

Array::Array(nb::handle fresh, const Array& like) : object_(fresh), kind_(like.kind_) {
  constexpr Argument kArgument{"array", "a new array"};
  if (kind_ == Kind::torch && take_exchanged(kArgument)) return;
  if (kind_ == Kind::torch && like.is_contiguous_) {
    dtype_ = like.dtype_;
    shape_ = like.shape_;
    strides_ = like.strides_;
    device_ = like.device_;
    is_contiguous_ = true;
    take_torch_data(kArgument);
  } else if (kind_ == Kind::torch) {
    take_torch(kArgument, Access::read);
  } else if (like.is_on_cpu()) {
    kind_ = Kind::numpy;
    take_numpy(kArgument, Access::write);
  } else {
    take_dlpack(kArgument, Access::write);
  }
}

Array::Loan::~Loan() {
  if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
  if (managed == nullptr) return;
  if (place && cuda::is_built()) {
    const nb::gil_scoped_release others_may_run;
    try {
      cuda::wait_for(*place);
    } catch (const Error&) {  // what the work died of is told where it is waited for again
    }
  }
  release(managed);
}

bool Array::is_same_memory(const Array& other) const {
  if (data_ != other.data_ || dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  for (std::size_t axis = 0; axis < shape_.rank(); ++axis) {
    if (shape_[axis] > 1 && strides_[axis] != other.strides_[axis]) return false;
  }
  return true;
}

void Array::find_contiguous() {
  const auto size = static_cast<std::int64_t>(size_of(dtype_));
  is_contiguous_ = reinterpret_cast<std::uintptr_t>(data_) % static_cast<std::uintptr_t>(size) == 0;
  std::int64_t expected = size;
  for (std::size_t axis = shape_.rank(); axis-- > 0;) {
    if (shape_[axis] > 1 && strides_[axis] != expected) is_contiguous_ = false;
    expected *= std::max<std::int64_t>(shape_[axis], 1);
  }
  if (shape_.elements() == 0) is_contiguous_ = true;
}

nb::object empty_like(const Array& array) {
  PyObject* arguments[] = {array.object().ptr()};
  if (array.kind() == Array::Kind::other) {
    return array.is_on_cpu() ? empty_array(array.kind(), array.dtype(), array.shape())
                             : empty_on_device(array, array.dtype(), array.shape());
  }
  const nb::handle function =
      array.kind() == Array::Kind::torch ? torch()->empty_like : numpy().empty_like;
  PyObject* result = PyObject_Vectorcall(function.ptr(), arguments, 1, nullptr);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

nb::object empty_array(Array::Kind kind, DType dtype, const Shape& shape) {
  nb::list extents;
  for (const std::int64_t extent : shape.extents()) extents.append(extent);
  const nb::object tuple = nb::tuple(extents);
  if (kind == Array::Kind::torch) {
    return torch()->empty(tuple, nb::arg("dtype") = torch()->of(dtype));
  }
  return numpy().empty(tuple, nb::arg("dtype") = numpy_dtype(dtype));
}

Shape shape_of(Argument argument, const std::int64_t* extents, std::int64_t rank) {
  if (rank < 0 || rank > static_cast<std::int64_t>(kMaxRank)) {
    throw Error(argument.function, std::string(argument.name) + "'s rank", std::to_string(rank),
                "at most " + std::to_string(kMaxRank));
  }
  return Shape(std::span<const std::int64_t>(extents, static_cast<std::size_t>(rank)));
}

std::string described(nb::handle object) {
  return "an object of type " + nb::cast<std::string>(object.type().attr("__name__"));
}

}  // namespace nibble::python
