// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: the names stay unknown.
#include "backend/cuda/register.h"

#include "nibble/core/error.h"

namespace nibble::inline backend {

void register_cuda_backend() {}

std::string cuda_products(int) {
  throw Error("device", "cuda", "a build without CUDA", "one with it", ErrorKind::device);
}

}  // namespace nibble::inline backend
