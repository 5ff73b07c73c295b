// SPDX-License-Identifier: Apache-2.0
// Finds GPUs by name.
#include "cuda/usable_device.h"

#include <string>

#include "core/device_name.h"
#include "cuda/driver.h"
#include "cuda/upload.h"
#include "nibble/core/error.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

int usable_device(std::string_view name) {
  const int device = parse_device(name).index;
  const int count = device_count();
  if (count == 0) {
    const bool has_driver = !loaded_driver().version.empty();
    throw Error("device", name,
                has_driver ? "no usable GPU: " + why_no_device() : "no NVIDIA driver here",
                "a machine with a GPU, or cpu", ErrorKind::device);
  }
  if (device >= count)
    throw Error("device", name, std::to_string(count) + (count == 1 ? " GPU" : " GPUs"),
                "a number below " + std::to_string(count) + ", or cpu", ErrorKind::device);
  if (!has_kernels(device))
    throw Error("device", name, "a build without kernels for this GPU",
                "one with -D CMAKE_CUDA_ARCHITECTURES=native, made on it", ErrorKind::device);
  return device;
}

}  // namespace nibble::cuda
