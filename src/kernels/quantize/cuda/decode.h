// SPDX-License-Identifier: Apache-2.0
// Codes on the device to values.
#pragma once

#include "kernels/quantize/cuda/decoding.h"
#include "kernels/quantize/cuda/define.h"

namespace nibble::cuda {

inline constexpr int kDecodeTable = 256;
inline constexpr int kDecodedBlock = 1024;  // elements under a scale of their own, at most

struct DecodeJob {
  CodeJob codes;
  std::int64_t count = 0;
  void* output = nullptr;
  bool to_double = false;
  bool is_aligned = false;
  ScaleKind kind = ScaleKind::none;
  ScaleJob scales;  // source none, tensor or groups
  DeviceElement element;
  Decoding decoding;
  bool has_nan = true;         // among the values
  float values[kDecodeTable];  // of codes of at most 8 bits
};

void decode_elements(const DecodeJob& job, const Place& place);
void decode_vectors(const DecodeJob& job, const Place& place);  // but those under groups of scales

}  // namespace nibble::cuda
