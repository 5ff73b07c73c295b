// SPDX-License-Identifier: Apache-2.0
// Results as arrays of the kind that came in.
#include "python/src/new_arrays.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "cuda/memory.h"
#include "python/src/modules.h"

namespace nibble::python {
namespace {

DType signed_like(DType dtype) {
  if (dtype == DType::u16) return DType::i16;
  return dtype == DType::u32 ? DType::i32 : dtype;
}

nb::dlpack::dtype described_by(DType dtype) {
  using nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  const auto of = [&](dtype_code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
      return of(dtype_code::Float);
    case DType::bf16:
      return of(dtype_code::Bfloat);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return of(dtype_code::Int);
    default:
      return of(dtype_code::UInt);
  }
}

// An array of memory that its owner holds.
template <class Framework, class Owner>
nb::object wrapped(Owner owner, void* data, const Shape& shape, DType dtype,
                   int device_type = nb::device::cpu::value, int device = 0) {
  const auto extents = shape.extents();
  const std::vector<std::size_t> sizes(extents.begin(), extents.end());
  const nb::capsule kept(new Owner(std::move(owner)),
                         [](void* p) noexcept { delete static_cast<Owner*>(p); });
  return nb::cast(nb::ndarray<Framework>(data, sizes.size(), sizes.data(), kept, nullptr,
                                         described_by(dtype), device_type, device));
}

template <class Framework>
nb::object wrapped(Tensor tensor, DType dtype) {
  void* data = tensor.data();
  const Shape shape = tensor.shape();
  return wrapped<Framework>(std::move(tensor), data, shape, dtype);
}

}  // namespace

nb::object to_python(Tensor tensor, Array::Kind kind) {
  const DType dtype = tensor.dtype();
  if (kind == Array::Kind::torch)
    return wrapped<nb::pytorch>(std::move(tensor), signed_like(dtype));
  return wrapped<nb::numpy>(std::move(tensor), dtype);
}

nb::object empty_on_device(const Array& like, DType dtype, const Shape& shape) {
  if (like.kind() != Array::Kind::torch) {
    const int device = like.device().index;
    const auto bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
    const std::shared_ptr<void> memory = cuda::allocate(bytes, device);
    return wrapped<nb::array_api>(memory, memory.get(), shape, dtype, nb::device::cuda::value,
                                  device);
  }
  nb::list extents;
  for (const std::int64_t extent : shape.extents()) extents.append(extent);
  return torch()->empty(nb::tuple(extents), nb::arg("dtype") = torch()->of(dtype),
                        nb::arg("device") = like.object().attr("device"));
}

}  // namespace nibble::python
