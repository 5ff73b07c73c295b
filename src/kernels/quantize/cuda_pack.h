// SPDX-License-Identifier: Apache-2.0
// Codes on the device to values, and codes of any width one after another.
#pragma once

#include "kernels/quantize/cuda_define.h"

namespace nibble::cuda {

// core/bit_packing.h's bytes from codes of their own type, and back.
void pack_codes(const void* codes, DType type, int bits, std::int64_t count, void* packed,
                const Place& place);
void unpack_codes(const void* packed, int bits, std::int64_t count, void* codes, DType type,
                  const Place& place);

inline constexpr int kDecodeTable = 256;

struct DecodeJob {
  CodeJob codes;
  std::int64_t count = 0;
  void* output = nullptr;
  bool to_double = false;
  bool is_aligned = false;
  ScaleKind kind = ScaleKind::none;
  ScaleJob scales;  // source none, tensor or groups
  DeviceElement element;
  bool by_table = false;  // the values of all codes of at most 8 bits
  bool has_nan = true;    // among them
  float values[kDecodeTable];
};

void decode_elements(const DecodeJob& job, const Place& place);

}  // namespace nibble::cuda
