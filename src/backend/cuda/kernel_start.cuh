// SPDX-License-Identifier: Apache-2.0
// How every kernel begins: the next one may be brought onto the GPU while this one runs, and none
// touches memory before all that were asked for earlier are done.
#pragma once

namespace nibble::cuda {

__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void start_kernel() {
  let_next_begin();
  wait_for_earlier();
}

}  // namespace nibble::cuda
