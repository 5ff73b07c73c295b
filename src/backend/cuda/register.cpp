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

void check_device(std::string_view name, int device) {
  const int count = cuda::device_count();
  if (count == 0) {
    const bool has_driver = !cuda::loaded_driver().version.empty();
    throw Error("device", name,
                has_driver ? "no usable GPU: " + cuda::why_no_device() : "no NVIDIA driver here",
                "a machine with a GPU, or cpu", ErrorKind::device);
  }
  if (device >= count)
    throw Error("device", name, std::to_string(count) + (count == 1 ? " GPU" : " GPUs"),
                "a number below " + std::to_string(count) + ", or cpu", ErrorKind::device);
  if (!cuda::has_kernels(device))
    throw Error("device", name, "a build without kernels for this GPU",
                "one with -D CMAKE_CUDA_ARCHITECTURES=native, made on it", ErrorKind::device);
}

std::unique_ptr<IntegerBackend> make_cuda_backend(std::string_view name) {
  const int device = device_named(name);
  check_device(name, device);
  return std::make_unique<CudaBackend>(std::string(name), device);
}

}  // namespace

void register_cuda_backend() {
  register_backend("cuda", make_cuda_backend);
}

std::string cuda_products(int device) {
  check_device("cuda:" + std::to_string(device), device);
  return std::string(name_of(cuda::product_path(device)));
}

}  // namespace nibble::inline backend
