// SPDX-License-Identifier: Apache-2.0
// Marks functions that nvcc compiles for the GPU as well.
#pragma once

#ifdef __CUDACC__
#define NIBBLE_HOST_DEVICE __host__ __device__
#else
#define NIBBLE_HOST_DEVICE
#endif
