// SPDX-License-Identifier: Apache-2.0
// The limits that steps on a GPU are held against.
#pragma once

namespace nibble::cuda {

// Operations a second, two a multiply-accumulate, of int8 products on operands in registers
// (mma.sync m16n8k32), measured; 0: the GPU has no such instruction.
double int8_peak(int device);

// Bytes a second that a copy within the GPU's memory reads and writes, measured.
double copy_peak(int device);

}  // namespace nibble::cuda
