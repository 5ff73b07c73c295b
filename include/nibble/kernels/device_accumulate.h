// SPDX-License-Identifier: Apache-2.0
// matmul of nibble/kernels/accumulate.h on a GPU, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibble/cuda/device.h"
#include "nibble/kernels/accumulate.h"

namespace nibble::inline kernels {

// Bytes of memory that device_matmul needs beside its operands, aligned to 16: the tables of
// codebooks, otherwise 0. It is the call's own until its work is done.
std::size_t device_matmul_workspace(const Accumulator& accumulator);

// c[i,j] = Σ_k a[i,k]·b[k,j] over contiguous row-major fp32 matrices (m×k, k×n, m×n) in memory of
// the place's device; c shares no memory with a or b. Queues its work on the place's stream and
// returns; nothing is allocated, nothing waits, and a graph may capture it.
void device_matmul(const float* a, const float* b, float* c, std::int64_t m, std::int64_t k,
                   std::int64_t n, const Accumulator& accumulator, void* workspace,
                   const cuda::Place& place);

}  // namespace nibble::inline kernels
