// SPDX-License-Identifier: Apache-2.0
// Dense memory on a GPU: operands as the kernels want them, and what they need beside.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "nibble/core/error.h"
#include "nibble/cuda/device.h"
#include "nibble/kernels/device_quantize.h"
#include "python/src/array.h"

namespace nibble::python {

// An array, copied by torch where it is strided or, on request, not fp32.
class DeviceInput {
 public:
  enum class Type { own, f32 };
  DeviceInput(const Array& array, std::string_view function, Type type = Type::own);
  DeviceArray array() const { return {data_, dtype_}; }

 private:
  nb::object copy_;
  void* data_;
  DType dtype_;
};

// An array to be written; a strided one gets its elements from a dense one at the end.
class DeviceOutput {
 public:
  DeviceOutput(const Array& array, std::string_view function);
  DeviceArray array() const { return {data_, dtype_}; }
  void finish() const;

 private:
  nb::object strided_;
  nb::object dense_;
  void* data_;
  DType dtype_;
};

// Memory of torch's allocator, which hands it out again in the order of the stream; where torch is
// not loaded the device's own, given back after its work.
class Workspace {
 public:
  Workspace(std::size_t bytes, const Array& beside);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data() const { return data_; }

 private:
  std::shared_ptr<void> own_;                 // without torch
  nb::object memory_;                         // before torch 2.10
  dlpack::ManagedVersioned* lent_ = nullptr;  // from then on
  void* data_ = nullptr;
};

// The current stream of a device; the default one where torch is not loaded.
cuda::Place place_on(int device);

void check_has_cuda(std::string_view function, const Array& array);

// Calls work(place).
template <class Work>
void on_device(std::string_view function, const Array& array, const Work& work) {
  check_has_cuda(function, array);
  work(place_on(array.device().index));
}

}  // namespace nibble::python
