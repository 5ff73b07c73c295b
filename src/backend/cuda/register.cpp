// SPDX-License-Identifier: Apache-2.0
// GPUs by name: "cuda" is the first, "cuda:1" the second.
#include "backend/cuda/register.h"

#include "backend/cuda/cuda_backend.h"
#include "backend/registry.h"
#include "cuda/driver.h"
#include "cuda/event_spans.h"

namespace nibble::inline backend {
namespace {

std::unique_ptr<IntegerBackend> make_cuda_backend(std::string_view name) {
  return std::make_unique<CudaBackend>(std::string(name), cuda::usable_device(name));
}

}  // namespace

void register_cuda_backend() {
  register_backend("cuda", make_cuda_backend);
  cuda::tell_nsight();
}

std::string cuda_products(int device) {
  cuda::usable_device("cuda:" + std::to_string(device));
  return std::string(name_of(cuda::product_path(device)));
}

}  // namespace nibble::inline backend
