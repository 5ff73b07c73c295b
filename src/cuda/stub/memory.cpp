// SPDX-License-Identifier: Apache-2.0
// Memory of a build without the CUDA toolkit: none.
#include "cuda/memory.h"

#include "cuda/stub/absent.h"

namespace nibble::cuda {

std::shared_ptr<void> allocate(std::size_t, int) {
  refuse_without_cuda("cuda");
}

std::int64_t free_bytes(const Place&) {
  return 0;
}

void copy(void*, const void*, std::size_t, const Place&) {
  refuse_without_cuda("cuda");
}

}  // namespace nibble::cuda
