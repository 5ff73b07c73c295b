// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: the names stay unknown.
#include "engine/cuda/register.h"

namespace nibble::inline engine {

void register_cuda_engine() {}

}  // namespace nibble::inline engine
