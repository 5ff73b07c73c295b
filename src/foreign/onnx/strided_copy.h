// SPDX-License-Identifier: Apache-2.0
// Transposed, sliced and broadcast copies of tensors, all of one form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/core/tensor.h"

namespace nibble::inline foreign {

// Of a row-major tensor, in elements.
std::vector<std::int64_t> strides_of(const Shape& shape);

// out[i, j, …] = from[offset + i·strides[0] + j·strides[1] + …], all of which must be inside.
Tensor strided_copy(ConstTensorView from, const Shape& shape, std::int64_t offset,
                    std::span<const std::int64_t> strides);

// Axis k of the result is axes[k] of the tensor.
Tensor transposed(ConstTensorView from, std::span<const std::int64_t> axes);

// (out, in, …) with channels first becomes (out, …, in): the weights of a convolution (out, in, y,
// x), or those of a product (out, channels·y·x) with the list of a picture's extents.
Tensor channels_last(ConstTensorView weight);
Tensor channels_last(ConstTensorView weight, std::span<const std::int64_t> picture);

Tensor reshaped(ConstTensorView from, const Shape& shape);  // a copy

}  // namespace nibble::inline foreign
