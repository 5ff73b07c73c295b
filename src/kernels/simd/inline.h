// SPDX-License-Identifier: Apache-2.0
// How a piece of a kernel is compiled: into its caller, and for a GPU as well where nvcc reads it.
#pragma once

#ifdef __CUDACC__
#define NIBBLE_INLINE __host__ __device__ __forceinline__
#define NIBBLE_UNROLL _Pragma("unroll")
#else
#define NIBBLE_INLINE [[gnu::always_inline]] inline
#define NIBBLE_UNROLL _Pragma("GCC unroll 8")
#endif
