// SPDX-License-Identifier: Apache-2.0
// GPUs by name: "cuda" is the first, "cuda:1" the second.
#include "float_training/cuda/register.h"

#include "float_training/cuda/cuda_float_device.h"

namespace nibble::inline float_training {

void register_cuda_float_device() {
  register_float_device("cuda", make_cuda_float_device);
}

}  // namespace nibble::inline float_training
