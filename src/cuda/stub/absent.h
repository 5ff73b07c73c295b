// SPDX-License-Identifier: Apache-2.0
// What calls for a GPU are answered with in a build without the CUDA toolkit.
#pragma once

#include "nibble/core/error.h"

namespace nibble::cuda {

[[noreturn]] inline void refuse_without_cuda(const char* op) {
  throw Error(op, "a GPU", "a build without CUDA", "one with the CUDA toolkit", ErrorKind::device);
}

}  // namespace nibble::cuda
