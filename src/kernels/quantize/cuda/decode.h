// SPDX-License-Identifier: Apache-2.0
// Codes on the device to values.
#pragma once

#include "kernels/quantize/cuda/define.h"

namespace nibble::cuda {

inline constexpr int kDecodeTable = 256;
inline constexpr int kDecodedBlock = 1024;  // elements under a scale of their own, at most

// How codes become values.
enum class DecodeWay : std::uint8_t {
  definition,
  table,   // of the values of all codes of at most 8 bits
  floats,  // by arithmetic that gives the table
  grids,
  posits,
};

// Of codes at the top of a byte.
struct FloatDecoding {
  int shift = 0;             // from the byte's exponent to fp32's
  std::uint32_t kept = 0;    // sign, exponent and mantissa there
  float unit = 1;            // from fp32's bias to the element's
  std::uint32_t beyond = 0;  // added to magnitudes, carries where they are no numbers
};

struct GridDecoding {
  std::uint32_t flipped = 0;  // signed: the sign bits, so that bytes count from the lowest
  float offset = 0x1p23F;     // of the byte that means zero
  float unit = 1;             // a step of the byte
  float step = 1;             // a step of the element
};

struct PositDecoding {
  std::uint32_t steps = 1;  // 2^es
  std::uint32_t last = 0;   // bits of 64, 2^es times
};

struct DecodeJob {
  CodeJob codes;
  std::int64_t count = 0;
  void* output = nullptr;
  bool to_double = false;
  bool is_aligned = false;
  ScaleKind kind = ScaleKind::none;
  ScaleJob scales;  // source none, tensor or groups
  DeviceElement element;
  DecodeWay way = DecodeWay::definition;
  int top_shift = 0;       // 8 - bits
  std::uint32_t tops = 0;  // of four codes at the top of a byte
  FloatDecoding floating;
  GridDecoding grid;
  PositDecoding posit;
  bool has_nan = true;  // among the values
  float values[kDecodeTable];
};

// The way of a job that has its values, with the constants it needs.
DecodeWay decode_way(DecodeJob& job);

void decode_elements(const DecodeJob& job, const Place& place);
void decode_vectors(const DecodeJob& job, const Place& place);  // but those under groups of scales

}  // namespace nibble::cuda
