// SPDX-License-Identifier: Apache-2.0
// The matrix product for GPUs in a build without the CUDA toolkit.
#include "cuda/stub/absent.h"
#include "nibble/kernels/device_accumulate.h"

namespace nibble::inline kernels {

std::size_t device_matmul_workspace(const Accumulator&) {
  return 0;
}

void device_matmul(const float*, const float*, float*, std::int64_t, std::int64_t, std::int64_t,
                   const Accumulator&, void*, const cuda::Place&) {
  cuda::refuse_without_cuda("matmul");
}

}  // namespace nibble::inline kernels
