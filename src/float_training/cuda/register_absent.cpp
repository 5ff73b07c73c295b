// SPDX-License-Identifier: Apache-2.0
// A build without CUDA or without float training: the names stay unknown.
#include "float_training/cuda/register.h"

namespace nibble::inline float_training {

void register_cuda_float_device() {}

}  // namespace nibble::inline float_training
