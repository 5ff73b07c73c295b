// SPDX-License-Identifier: Apache-2.0
// Dense memory on a GPU.
#include "python/src/device_memory.h"

#include <string>

#include "cuda/memory.h"
#include "python/src/checks.h"
#include "python/src/errors.h"
#include "python/src/modules.h"

namespace nibble::python {
namespace {

void* pointer_of(nb::handle tensor) {
  static const Name data_ptr("data_ptr");
  void* pointer = PyLong_AsVoidPtr(call_method(tensor, data_ptr).ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return pointer;
}

void need_torch(const Array& array, std::string_view function) {
  if (array.kind() == Array::Kind::torch) return;
  throw Error(function, "an array on " + device_text(array.device()), "a strided one",
              "a contiguous one, or a torch tensor");
}

dlpack::ManagedVersioned* allocate(const dlpack::ExchangeApi& api, std::size_t bytes, int device) {
  auto extent = static_cast<std::int64_t>(bytes);
  dlpack::Tensor wanted{.data = nullptr,
                        .device = {dlpack::kCuda, device},
                        .rank = 1,
                        .dtype = {dlpack::kUInt, 8, 1},
                        .shape = &extent,
                        .strides = nullptr,
                        .byte_offset = 0};
  dlpack::ManagedVersioned* made = nullptr;
  std::string problem;
  const auto keep = [](void* kept, const char*, const char* message) {
    *static_cast<std::string*>(kept) = message;
  };
  if (api.allocate(&wanted, &made, &problem, keep) != 0) {
    throw StateMistake("workspace", std::to_string(bytes) + " bytes", problem, "memory");
  }
  return made;
}

// Torch that finds no GPU or no driver refuses to tell a stream; it has queued nothing, so that the
// default one serves.
void throw_where_torch_has_gpu(const Torch& torch) {
  nb::python_error error;
  if (nb::cast<bool>(torch.module.attr("cuda").attr("is_available")())) throw error;
}

}  // namespace

DeviceInput::DeviceInput(const Array& array, std::string_view function, Type type)
    : data_(array.data()), dtype_(type == Type::f32 ? DType::f32 : array.dtype()) {
  if (array.is_contiguous() && dtype_ == array.dtype()) return;
  need_torch(array, function);
  copy_ = array.object().attr("detach")();
  if (dtype_ != array.dtype()) copy_ = copy_.attr("float")();
  copy_ = copy_.attr("contiguous")();
  data_ = pointer_of(copy_);
}

DeviceOutput::DeviceOutput(const Array& array, std::string_view function)
    : data_(array.data()), dtype_(array.dtype()) {
  if (array.is_contiguous()) return;
  need_torch(array, function);
  strided_ = array.object().attr("detach")();
  dense_ = torch()->empty(strided_.attr("shape"), nb::arg("dtype") = strided_.attr("dtype"),
                          nb::arg("device") = strided_.attr("device"));
  data_ = pointer_of(dense_);
}

void DeviceOutput::finish() const {
  if (dense_.is_valid()) strided_.attr("copy_")(dense_);
}

Workspace::Workspace(std::size_t bytes, const Array& beside) {
  if (bytes == 0) return;
  const Torch* module = torch();
  if (module == nullptr) {
    own_ = cuda::allocate(bytes, beside.device().index);
    data_ = own_.get();
    return;
  }
  if (module->exchange != nullptr) {
    lent_ = allocate(*module->exchange, bytes, beside.device().index);
    data_ = lent_->tensor.data;
    return;
  }
  memory_ = module->empty(bytes, nb::arg("dtype") = module->uint8,
                          nb::arg("device") = device_text(beside.device()).c_str());
  data_ = pointer_of(memory_);
}

Workspace::~Workspace() {
  if (lent_ != nullptr) lent_->deleter(lent_);
}

cuda::Place place_on(int device) {
  cuda::Place place{.device = device};
  const Torch* module = torch();
  if (module == nullptr) return place;
  if (const dlpack::ExchangeApi* api = module->exchange; api != nullptr) {
    if (api->current_stream(dlpack::kCuda, place.device, &place.stream) != 0)
      throw_where_torch_has_gpu(*module);
  } else if (module->current_stream.is_valid()) {
    const nb::object stream =
        nb::steal(PyObject_CallFunction(module->current_stream.ptr(), "i", place.device));
    if (stream.is_valid()) place.stream = PyLong_AsVoidPtr(stream.ptr());
    if (PyErr_Occurred() != nullptr) throw_where_torch_has_gpu(*module);
  }
  return place;
}

void check_has_cuda(std::string_view function, const Array& array) {
  if (cuda::is_built()) return;
  throw StateMistake(function, "an array on " + device_text(array.device()), "a build without CUDA",
                     "one with the CUDA toolkit");
}

}  // namespace nibble::python
