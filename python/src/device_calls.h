// SPDX-License-Identifier: Apache-2.0
// Calls on arrays of a GPU, queued on the current stream of its device.
#pragma once

#include "nibble/kernels/accumulate.h"
#include "python/src/arguments.h"
#include "python/src/array.h"

namespace nibble::python {

void quantize_on_device(const Array& input, const Array& output, const Format& format,
                        const QuantizeOptions& options);

// (codes, scales, zeros, tensor_scale), None where the format has none.
nb::tuple encode_on_device(const Array& input, const ParsedFormat& format, bool is_packed,
                           const QuantizeOptions& options);

nb::object decode_on_device(const Array& codes, const ParsedFormat& format, bool is_packed,
                            const Shape& shape, nb::handle scales, nb::handle zeros,
                            nb::handle tensor_scale);

// Matrices of fp32.
void matmul_on_device(const Array& a, const Array& b, const Array& output,
                      const Accumulator& accumulator);

}  // namespace nibble::python
