// SPDX-License-Identifier: Apache-2.0
// Adds GPUs to the devices of engines.
#include "engine/cuda/register.h"

#include "engine/cuda/cuda_runner.h"

namespace nibble::inline engine {

void register_cuda_engine() {
  add_engine_device("cuda", make_cuda_runner);
}

}  // namespace nibble::inline engine
