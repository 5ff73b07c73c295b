// SPDX-License-Identifier: Apache-2.0
// Adding tensors of integers that each have one exponent: the exponent they can share exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nibble {

// The largest distance of exponents that is aligned.
inline constexpr int kAlignmentReach = 40;

// Operand i of value mantissa·2^exponents[i] is mantissa·factor[i]·2^exponent. An operand more than
// kAlignmentReach below the largest exponent has factor 0 and no say in the common exponent.
struct Alignment {
  int exponent = 0;                  // the smallest of the operands that take part
  std::vector<std::int64_t> factor;  // 2^left_shift, or 0
};

// Exact for the operands that take part. Sums fit int64 where Σ|mantissa| < 2^22; of int8 mantissas
// 2^15 may be added. The exponent of an operand that is zero all over says nothing: leave it out.
// At least one exponent, each of magnitude below 2^30.
Alignment align(std::span<const int> exponents);

}  // namespace nibble
