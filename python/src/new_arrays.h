// SPDX-License-Identifier: Apache-2.0
// Results as arrays of the kind that came in.
#pragma once

#include "nibble/core/tensor.h"
#include "python/src/array.h"

namespace nibble::python {

// A tensor's memory as a NumPy array or a torch tensor. torch gets int16 and int32 in place of
// uint16 and uint32, which not every version has.
nb::object to_python(Tensor tensor, Array::Kind kind);

// New memory on the GPU of a tensor, as torch makes it; beside arrays of other packages memory of
// Nibble's own, by an object that has __dlpack__.
nb::object empty_on_device(const Array& like, DType dtype, const Shape& shape);

}  // namespace nibble::python
