// SPDX-License-Identifier: Apache-2.0
// Transposed, sliced and broadcast copies of tensors.
#include "foreign/onnx/strided_copy.h"

#include <array>
#include <cstring>

namespace nibble::inline foreign {

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Tensor strided_copy(ConstTensorView from, const Shape& shape, std::int64_t offset,
                    std::span<const std::int64_t> strides) {
  Tensor out(from.dtype(), shape);
  const std::size_t size = size_of(from.dtype());
  std::array<std::int64_t, kMaxRank> at{};
  std::byte* to = out.data();
  for (std::int64_t i = 0; i < shape.elements(); ++i, to += size) {
    std::memcpy(to, from.data() + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return out;
}

Tensor transposed(ConstTensorView from, std::span<const std::int64_t> axes) {
  const std::vector<std::int64_t> all = strides_of(from.shape());
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : axes) {
    extents.push_back(from.shape()[static_cast<std::size_t>(axis)]);
    strides.push_back(all[static_cast<std::size_t>(axis)]);
  }
  return strided_copy(from, Shape(extents), 0, strides);
}

Tensor channels_last(ConstTensorView weight) {
  return transposed(weight, std::array<std::int64_t, 4>{0, 2, 3, 1});
}

Tensor channels_last(ConstTensorView weight, std::span<const std::int64_t> picture) {
  const std::array<std::int64_t, 4> extents{weight.shape()[0], picture[0], picture[1], picture[2]};
  const Tensor permuted =
      channels_last(ConstTensorView(weight.data(), weight.dtype(), Shape(extents)));
  return reshaped(permuted.view(), weight.shape());
}

Tensor reshaped(ConstTensorView from, const Shape& shape) {
  return copy_of(ConstTensorView(from.data(), from.dtype(), shape));
}

}  // namespace nibble::inline foreign
