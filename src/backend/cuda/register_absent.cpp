// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: the names stay unknown.
#include "backend/cuda/register.h"

namespace nibble::inline backend {

void register_cuda_backend() {}

}  // namespace nibble::inline backend
