// SPDX-License-Identifier: Apache-2.0
// The limits that steps on a GPU are held against.
#pragma once

#include <cstdint>

#include "backend/cuda/product.h"

namespace nibble::cuda {

// Operations a second, two a multiply-accumulate, of int8 products by the instructions of a path,
// measured: their operands lie in registers, those of wgmma in shared memory.
double int8_peak(int device, ProductPath path);

// Bytes a second that a copy within the GPU's memory reads and writes, measured.
double copy_peak(int device);

// A launch that multiplies and writes nothing, so that only its time is of interest.
struct PeakLaunch {
  int blocks = 0;  // of a multiprocessor
  int rounds = 0;
  double operations = 0;  // of a block in a round
  void (*start)(unsigned int blocks, int rounds) = nullptr;
};
PeakLaunch wgmma_peak_launch();  // m64n256k32, on Hopper alone

}  // namespace nibble::cuda
