// SPDX-License-Identifier: Apache-2.0
// Adds GPUs to the devices of engines.
#include "engine/cuda/cuda_runner.h"
#include "nibble.h"
#include "nibble/engine/cuda_engine.h"

namespace nibble::inline engine {

void register_cuda_engine() {
  add_engine_device("cuda", make_cuda_runner);
}

}  // namespace nibble::inline engine

void nibble_use_cuda(void) {
  nibble::register_cuda_engine();
}
