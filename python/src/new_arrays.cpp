// SPDX-License-Identifier: Apache-2.0
// Results as arrays of the kind that came in.
#include "python/src/new_arrays.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "python/src/errors.h"
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

template <class Framework>
nb::object wrapped(Tensor tensor, DType dtype) {
  auto kept = std::make_unique<Tensor>(std::move(tensor));
  const auto extents = kept->shape().extents();
  const std::vector<std::size_t> shape(extents.begin(), extents.end());
  void* data = kept->data();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return nb::cast(nb::ndarray<Framework>(data, shape.size(), shape.data(), owner, nullptr,
                                         described_by(dtype)));
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
    throw StateMistake("array", "memory on a GPU", "an array of another package",
                       "out= beside it, or a torch tensor");
  }
  nb::list extents;
  for (const std::int64_t extent : shape.extents()) extents.append(extent);
  return torch()->empty(nb::tuple(extents), nb::arg("dtype") = torch()->of(dtype),
                        nb::arg("device") = like.object().attr("device"));
}

}  // namespace nibble::python
