// SPDX-License-Identifier: Apache-2.0
// Strided memory to dense and back; element i is the row-major index whatever the strides.
#pragma once

#include "nibble/core/tensor.h"
#include "python/src/array.h"

namespace nibble::python {

// The array's elements: its own memory where that is contiguous, otherwise a copy in `storage`.
ConstTensorView dense(const Array& array, Tensor& storage);

// Writes dense elements of the array's type and shape to where they belong.
void scatter(ConstTensorView from, const Array& to);

// Whether both lay their elements out alike, each byte of one range used once: element by element
// work may then ignore the order.
bool share_dense_layout(const Array& a, const Array& b);

}  // namespace nibble::python
