// SPDX-License-Identifier: Apache-2.0
// The memory of a Python object: a NumPy array, a torch tensor or anything with __dlpack__.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nibble/core/tensor.h"
#include "nibble/cuda/device.h"
#include "python/src/dlpack.h"

namespace nibble::python {

namespace nb = nanobind;

enum class Access { read, write };

// Which argument of which function an array is: the start of every message about it.
struct Argument {
  std::string_view function;
  std::string_view name;
  std::string_view types = "float32, float16 or bfloat16";  // that it may be of
};

// The types of what is no more than numbers.
inline constexpr std::string_view kNumbers = "floats or integers in the byte order of this machine";

class Array {
 public:
  enum class Kind { numpy, torch, other };

  // Borrows the memory; throws unless the object has some, dense or strided, of a known type.
  Array(nb::handle object, Argument argument, Access access);

  // What empty_like has just made of `like`.
  Array(nb::handle fresh, const Array& like);

  nb::handle object() const { return object_; }
  Kind kind() const { return kind_; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t stride(std::size_t axis) const { return strides_[axis]; }  // in bytes
  Device device() const { return device_; }
  bool is_on_cpu() const { return device_.kind == Device::Kind::cpu; }
  // Row-major without gaps, and aligned to the element.
  bool is_contiguous() const { return is_contiguous_; }

  ConstTensorView view() const { return {data(), dtype_, shape_, device_}; }
  TensorView mutable_view() const { return {data(), dtype_, shape_, device_}; }

  bool is_same_memory(const Array& other) const;

 private:
  void take_numpy(Argument argument, Access access);
  void take_torch(Argument argument, Access access);
  bool take_exchanged(Argument argument);  // false where take_torch has to say what is wrong
  void take_dlpack(Argument argument, Access access);
  void take_layout(Argument argument, const dlpack::Tensor& tensor);  // of the type dtype_
  void take_buffer(nb::handle exporter, Access access);
  void take_torch_data(Argument argument);
  void find_contiguous();

  nb::handle object_;
  Kind kind_ = Kind::other;
  void* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_;
  std::array<std::int64_t, kMaxRank> strides_{};
  Device device_;
  bool is_contiguous_ = false;

  // What was lent, given back at the end: a buffer, or the tensor of a DLPack capsule.
  struct Loan {
    Loan() = default;
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    Py_buffer buffer{};
    void* managed = nullptr;
    void (*release)(void*) = nullptr;
    // Of memory on a GPU: where work on it is queued. Its package hands the memory out again in the
    // order of another stream, so that it is given back when the work is done, not when it is
    // queued.
    std::optional<cuda::Place> place;
  };
  Loan loan_;
};

// Throws where the rank is beyond what Nibble has.
Shape shape_of(Argument argument, const std::int64_t* extents, std::int64_t rank);

// A new array as NumPy's and torch's empty_like make it; of other kinds a NumPy array, and on a GPU
// one that has nothing but __dlpack__.
nb::object empty_like(const Array& array);

// A new dense array of a kind on the CPU; NumPy for other kinds.
nb::object numpy_dtype(DType dtype);  // its name; bf16 has none
nb::object empty_array(Array::Kind kind, DType dtype, const Shape& shape);

std::string described(nb::handle object);  // "an object of type list"

}  // namespace nibble::python
