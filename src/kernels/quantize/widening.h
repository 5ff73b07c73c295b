// SPDX-License-Identifier: Apache-2.0
// fp16 and bf16 tensors as fp32 and back.
#pragma once

#include <span>

#include "nibble/core/tensor.h"

namespace nibble::inline kernels {

// The elements as fp32: the tensor's own where it is f32, otherwise a copy kept in `storage`.
std::span<const float> as_floats(ConstTensorView input, Tensor& storage);

// Rounds to nearest even into an f16 or bf16 tensor.
void narrow_floats(std::span<const float> values, TensorView output);

}  // namespace nibble::inline kernels
