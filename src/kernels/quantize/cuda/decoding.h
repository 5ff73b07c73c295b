// SPDX-License-Identifier: Apache-2.0
// Codes to the values of their elements by arithmetic: what kernels compute, and what the host
// compares with the definition, code by code, before it lets them. Codes stand at the top of a
// field of 8 or 16 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/simd/cuda_lane.cuh"
#include "nibble/numerics/element.h"

namespace nibble::cuda {

// How codes become values.
enum class DecodeWay : std::uint8_t {
  definition,
  table,  // of the values of all codes of at most 8 bits
  floats,
  grids,
  posits,
};

struct FloatDecoding {
  int shift = 0;                 // from the code's exponent, at the top of 32 bits, to fp32's
  std::uint32_t kept = 0;        // sign, exponent and mantissa there
  float unit = 1;                // from fp32's bias to the element's
  std::uint32_t beyond = 0;      // added to magnitudes, carries where they are no numbers
  std::uint32_t lone_signs = 0;  // the fields' signs where one alone is no zero
};

struct GridDecoding {
  std::uint32_t flipped = 0;  // signed: the sign bits, so that fields count from the lowest
  float offset = 0x1p23F;     // of the field that means zero
  float unit = 1;             // a step of the field
  float step = 1;             // a step of the element
};

struct PositDecoding {
  std::uint32_t steps = 1;  // 2^es
  float one = 64;           // the field of the number 1
  std::uint32_t last = 0;   // bits of it, 2^es times
};

struct Decoding {
  DecodeWay way = DecodeWay::definition;
  int top_shift = 0;       // from a code to the top of its field
  std::uint32_t tops = 0;  // of the codes of a word there
  FloatDecoding floating;
  GridDecoding grid;
  PositDecoding posit;
};

// Of codes of at most 16 bits with these values.
Decoding decoding_of(const Element& element, int bits, std::span<const float> values);

// All that decoding has to know of an element of at most 16 bits.
struct KnownDecoding {
  Decoding decoding;
  std::vector<float> values;  // of all codes of at most 8 bits: NaN where there is none
  bool has_nan = true;        // among them
};

// Worked out once, and remembered for the next calls of this thread: 256 values take the host
// longer than a GPU takes for a million of codes. Good until the next call.
const KnownDecoding& known_decoding(const Element& element);

// Sign, exponent and mantissa moved from the top of 32 bits to fp32's places; one multiplication
// moves the bias, and makes fp32's subnormals of the element's.
NIBBLE_INLINE float decoded(const FloatDecoding& p, std::uint32_t top) {
  return Lane::floats(Lane::sar(top, static_cast<std::uint32_t>(p.shift)) & p.kept) * p.unit;
}

// From 2^23 and the field; `moved` is what the zero point takes off.
NIBBLE_INLINE float decoded(const GridDecoding& p, float counted, float moved) {
  return std::fma(counted - p.offset, p.unit, moved);
}

// counting.h's lines the other way: from the signed field's distance to the nearer of 0 and the
// field that is no real.
NIBBLE_INLINE float decoded(const PositDecoding& p, float counted) {
  const float beyond_one = std::fabs(counted) - p.one;
  const std::uint32_t length = p.last - Lane::bits(p.one - std::fabs(beyond_one)) * p.steps;
  const std::uint32_t inverted = Lane::sar(Lane::bits(beyond_one), 31U);
  const std::uint32_t magnitude = (length ^ inverted) - inverted + 0x3F800000U;
  const float value = Lane::floats(magnitude | (Lane::bits(counted) & 0x80000000U));
  return counted == 0 ? 0.0F : value;
}

}  // namespace nibble::cuda
