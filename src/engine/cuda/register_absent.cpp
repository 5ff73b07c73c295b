// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: the names stay unknown.
#include "nibble.h"
#include "nibble/engine/cuda_engine.h"

namespace nibble::inline engine {

void register_cuda_engine() {}

}  // namespace nibble::inline engine

void nibble_use_cuda(void) {}
