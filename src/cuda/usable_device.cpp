// SPDX-License-Identifier: Apache-2.0
// Finds GPUs by name.
#include "cuda/usable_device.h"

#include <string>

#include "core/device_name.h"
#include "cuda/driver.h"
#include "nibble/core/error.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

int usable_device(std::string_view name) {
  const int device = parse_device(name).index;
  const int count = device_count();
  if (count == 0 && loaded_driver().version.empty())
    throw Error("device", name, "no NVIDIA driver here", "a machine with a GPU, or cpu",
                ErrorKind::device);
  if (device >= count)
    throw Error("device", name, std::to_string(count) + " usable GPUs", "one more, or cpu",
                ErrorKind::device);
  return device;
}

}  // namespace nibble::cuda
