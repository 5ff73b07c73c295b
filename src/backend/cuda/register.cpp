// SPDX-License-Identifier: Apache-2.0
// GPUs by name: "cuda" is the first, "cuda:1" the second.
#include "backend/cuda/register.h"

#include <charconv>

#include "backend/cuda/cuda_backend.h"
#include "backend/registry.h"
#include "cuda/driver.h"
#include "nibble/core/error.h"
#include "nibble/cuda/device.h"

namespace nibble::inline backend {
namespace {

int device_named(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return 0;
  const std::string_view number = name.substr(colon + 1);
  int device = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device);
  if (error != std::errc() || end != number.data() + number.size() || device < 0)
    throw Error("device", "name", name, "cuda or cuda:NUMBER");
  return device;
}

std::unique_ptr<IntegerBackend> make_cuda_backend(std::string_view name) {
  const int device = device_named(name);
  const int count = cuda::device_count();
  if (count == 0 && cuda::loaded_driver().version.empty())
    throw Error("device", name, "no NVIDIA driver here", "a machine with a GPU, or cpu",
                ErrorKind::device);
  if (device >= count)
    throw Error("device", name, std::to_string(count) + " usable GPUs", "one more, or cpu",
                ErrorKind::device);
  return std::make_unique<CudaBackend>(std::string(name), device);
}

}  // namespace

void register_cuda_backend() {
  register_backend("cuda", make_cuda_backend);
}

}  // namespace nibble::inline backend
