// SPDX-License-Identifier: Apache-2.0
// What functions ask of their arrays.
#pragma once

#include "python/src/array.h"

namespace nibble::python {

void check_value_type(const Array& array, Argument argument);  // f32, f16 or bf16
void check_shape(const Array& array, const Shape& expected, Argument argument);
void check_output_type(const Array& output, DType input, Argument argument);  // f32 or the input's
void check_same_device(const Array& input, const Array& other, Argument argument);

// Tells autograd that a tensor was written, so that it can refuse a stale graph.
void note_written(const Array& output);

std::string python_name(DType dtype);    // "float32"
std::string device_text(Device device);  // "cpu", "cuda:1"

}  // namespace nibble::python
