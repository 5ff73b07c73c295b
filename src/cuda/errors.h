// SPDX-License-Identifier: Apache-2.0
// Results of the CUDA runtime as errors of the project.
#pragma once

#include <cuda_runtime_api.h>

#include "nibble/core/error.h"

namespace nibble::cuda {

inline void check(const char* op, cudaError_t result) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // told here, it is no error of a later launch
  throw Error(op, "CUDA", cudaGetErrorString(result), "success",
              result == cudaErrorMemoryAllocation ? ErrorKind::memory : ErrorKind::device);
}

}  // namespace nibble::cuda
