// SPDX-License-Identifier: Apache-2.0
// What quantize and encode refuse, wherever they run.
#pragma once

#include "nibble/kernels/quantize.h"

namespace nibble::inline kernels {

void check_quantizable(const Format& format, const QuantizeOptions& options);
void check_encodable(const Format& format, const QuantizeOptions& options);

// The types of quantize's input and output.
void check_value_types(DType input, DType output);

// What compat refuses beside check_compat.
void check_compat_options(const Format& format, const QuantizeOptions& options);

}  // namespace nibble::inline kernels
