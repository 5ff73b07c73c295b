// SPDX-License-Identifier: Apache-2.0
// Functions of the driver, which programs find when they run.
#pragma once

#include <string>

#include "cuda/errors.h"

namespace nibble::cuda {

template <class Function>
Function driver_function(const char* name, unsigned int least_version = 12000) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check("cuda",
        cudaGetDriverEntryPointByVersion(name, &found, least_version, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess)
    throw Error("cuda", "driver", std::string("without ") + name, "one for CUDA 12 or newer",
                ErrorKind::device);
  return reinterpret_cast<Function>(found);
}

}  // namespace nibble::cuda
