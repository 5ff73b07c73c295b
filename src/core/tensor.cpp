// SPDX-License-Identifier: Apache-2.0
// Storage of tensors and the check of their element type.
#include "nibble/core/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void check_dtype(DType got, DType expected) {
  if (got != expected) throw Error("tensor", "element type", name_of(got), name_of(expected));
}

Tensor::Tensor(DType dtype, const Shape& shape, Device device)
    : dtype_(dtype), shape_(shape), device_(device) {
  if (device.kind != Device::Kind::cpu) {
    throw Error("tensor", "device", "cuda:" + std::to_string(device.index), "cpu");
  }
  // Never null, so that an empty tensor differs from one never made.
  const std::size_t size = std::max<std::size_t>(bytes(), 1);
  data_.reset(static_cast<std::byte*>(::operator new(size, kAlignment, std::nothrow)));
  if (!data_) {
    throw Error("tensor",
                "allocation of " + std::to_string(size) + " bytes for shape " + shape.to_string() +
                    ": out of memory",
                ErrorKind::memory);
  }
}

void Tensor::Free::operator()(std::byte* bytes) const {
  ::operator delete(bytes, kAlignment);
}

Tensor copy_of(ConstTensorView view) {
  Tensor copy(view.dtype(), view.shape());
  if (view.bytes() != 0) std::memcpy(copy.data(), view.data(), view.bytes());
  return copy;
}

}  // namespace nibble::inline core
