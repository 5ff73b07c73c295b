// SPDX-License-Identifier: Apache-2.0
// torch tensors by the C functions of torch 2.10 and later; otherwise by their attributes, which
// costs less than DLPack and works with every version.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "python/src/array.h"
#include "python/src/errors.h"
#include "python/src/modules.h"

namespace nibble::python {
namespace {

using Integers = std::array<std::int64_t, kMaxRank>;

// Reads a tuple of integers (a torch.Size or strides), as many as there is room for.
std::int64_t read_integers(nb::handle tuple, Integers& to) {
  const Py_ssize_t count = PyTuple_Size(tuple.ptr());
  if (count < 0) throw nb::python_error();
  for (std::size_t i = 0; i < std::min(to.size(), static_cast<std::size_t>(count)); ++i) {
    to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(i)));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return count;
}

void refuse_gradient(nb::handle tensor, Argument argument) {
  static const Name requires_grad("requires_grad");
  if (!is_true(attribute(tensor, requires_grad))) return;
  if (!is_true(torch()->module.attr("is_grad_enabled")())) return;
  throw StateMistake(argument.function, argument.name, "a tensor that requires grad",
                     "one that does not, or torch.no_grad()");
}

void refuse_lazy_negation(nb::handle tensor, Argument argument) {
  static const Name is_neg("is_neg");
  if (!is_true(call_method(tensor, is_neg))) return;
  throw TypeMistake(argument.function, argument.name, "a view that negates lazily",
                    "x.resolve_neg()");
}

}  // namespace

bool Array::take_exchanged(Argument argument) {
  if (!torch()->is_plain(object_)) return false;
  dlpack::Tensor tensor{};
  if (torch()->exchange->tensor_of(object_.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  const std::optional<DType> found = dlpack::dtype_of(tensor.dtype);
  const bool is_on_gpu = tensor.device.type == dlpack::kCuda;
  if (!found || tensor.data == nullptr || (!is_on_gpu && tensor.device.type != dlpack::kCpu)) {
    return false;
  }
  dtype_ = *found;
  if (is_on_gpu) device_ = {Device::Kind::cuda, tensor.device.index};
  take_layout(argument, tensor);
  return true;
}

void Array::take_torch_data(Argument argument) {
  static const Name data_ptr("data_ptr");
  data_ = PyLong_AsVoidPtr(call_method(object_, data_ptr).ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (data_ == nullptr && shape_.elements() > 0) {
    throw StateMistake(argument.function, argument.name, "a tensor without memory",
                       "one with its data");
  }
}

void Array::take_torch(Argument argument, Access access) {
  static const Name layout("layout"), dtype("dtype"), is_cuda("is_cuda"), is_cpu("is_cpu"),
      shape("shape"), stride("stride"), contiguous("is_contiguous"), get_device("get_device");
  if (access == Access::write) refuse_gradient(object_, argument);
  refuse_lazy_negation(object_, argument);
  if (take_exchanged(argument)) return;
  const Torch& module = *torch();
  const std::string name(argument.name);
  const nb::object type = attribute(object_, dtype);
  const std::optional<DType> found = module.dtype_of(type);
  if (!found) {
    throw TypeMistake(argument.function, name + "'s dtype", nb::cast<std::string>(nb::str(type)),
                      std::string(argument.types));
  }
  dtype_ = *found;
  if (!attribute(object_, layout).is(module.strided)) {
    throw TypeMistake(argument.function, name, "a sparse tensor", "a dense one");
  }
  if (is_true(attribute(object_, is_cuda))) {
    device_ = {Device::Kind::cuda, nb::cast<int>(call_method(object_, get_device))};
  } else if (!is_true(attribute(object_, is_cpu))) {
    const nb::object device = object_.attr("device");
    throw StateMistake(argument.function, name + "'s device",
                       nb::cast<std::string>(nb::str(device)), "cpu or cuda");
  }
  Integers extents{};
  const std::int64_t count = read_integers(attribute(object_, shape), extents);
  shape_ = shape_of(argument, extents.data(), count);
  const std::size_t rank = shape_.rank();
  const auto size = static_cast<std::int64_t>(size_of(dtype_));
  if (is_true(call_method(object_, contiguous))) {
    std::int64_t step = size;
    for (std::size_t axis = rank; axis-- > 0; step *= shape_[axis]) strides_[axis] = step;
  } else {
    read_integers(call_method(object_, stride), strides_);
    for (std::size_t axis = 0; axis < rank; ++axis) strides_[axis] *= size;
  }
  take_torch_data(argument);
  find_contiguous();
}

}  // namespace nibble::python
