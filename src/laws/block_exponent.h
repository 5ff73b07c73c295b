// SPDX-License-Identifier: Apache-2.0
// Adding tensors of integers that each have one exponent: the exponent they can share exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibble/core/host_device.h"

namespace nibble::inline laws {

// The largest distance of exponents that is aligned.
inline constexpr int kAlignmentReach = 40;

// Mantissa·factor(e)·2^exponent is mantissa·2^e.
struct CommonExponent {
  int exponent = 0;
  int lowest = 0;  // operands below it count nothing

  NIBBLE_HOST_DEVICE constexpr std::int64_t factor(int e) const {
    return e >= lowest ? std::int64_t{1} << (e - exponent) : 0;
  }
};

// Of `count` operands, at least one; `exponent_of(i)` is the i-th one's.
template <class ExponentOf>
NIBBLE_HOST_DEVICE constexpr CommonExponent common_exponent(std::size_t count,
                                                            const ExponentOf& exponent_of) {
  int largest = exponent_of(std::size_t{0});
  for (std::size_t i = 1; i < count; ++i) {
    if (exponent_of(i) > largest) largest = exponent_of(i);
  }
  CommonExponent common{largest, largest - kAlignmentReach};
  for (std::size_t i = 0; i < count; ++i) {
    const int each = exponent_of(i);
    if (each >= common.lowest && each < common.exponent) common.exponent = each;
  }
  return common;
}

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

}  // namespace nibble::inline laws
