// SPDX-License-Identifier: Apache-2.0
// Dense row-major arrays: Tensor owns its bytes, TensorView and ConstTensorView borrow them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "nibble/core/dtype.h"
#include "nibble/core/shape.h"

namespace nibble::inline core {

struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// Throws the error of an element type that is not the one asked for.
void check_dtype(DType got, DType expected);

template <class Byte>
class BasicTensorView {
 public:
  template <class T>
  using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  BasicTensorView() = default;
  BasicTensorView(Byte* data, DType dtype, const Shape& shape, Device device = {})
      : data_(data), dtype_(dtype), shape_(shape), device_(device) {}

  // A mutable view is also a const one.
  operator BasicTensorView<const std::byte>() const { return {data_, dtype_, shape_, device_}; }

  Byte* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Device device() const { return device_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }

  // The elements as T; throws when the tensor holds another type.
  template <class T>
  std::span<Like<T>> as() const {
    check_dtype(dtype_, DTypeOf<T>::value);
    return {reinterpret_cast<Like<T>*>(data_), static_cast<std::size_t>(elements())};
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_{0};
  Device device_;
};

using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

// Views over memory the caller owns, one-dimensional unless a shape is given.
template <class T>
TensorView view_of(std::span<T> values) {
  return {reinterpret_cast<std::byte*>(values.data()), DTypeOf<T>::value,
          Shape{static_cast<std::int64_t>(values.size())}};
}
template <class T>
ConstTensorView view_of(std::span<const T> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), DTypeOf<T>::value,
          Shape{static_cast<std::int64_t>(values.size())}};
}

class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, const Shape& shape, Device device = {});  // uninitialized, 64-byte aligned

  std::byte* data() const { return data_.get(); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  Device device() const { return device_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }

  TensorView view() { return {data_.get(), dtype_, shape_, device_}; }
  ConstTensorView view() const { return {data_.get(), dtype_, shape_, device_}; }

  template <class T>
  std::span<T> as() {
    return view().as<T>();
  }
  template <class T>
  std::span<const T> as() const {
    return view().as<T>();
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  DType dtype_ = DType::f32;
  Shape shape_{0};
  Device device_;
};

Tensor copy_of(ConstTensorView view);

}  // namespace nibble::inline core
