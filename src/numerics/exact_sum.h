// SPDX-License-Identifier: Apache-2.0
// A quire: a fixed-point number wide enough that sums of products are exact.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/bit_counts.h"
#include "nibble/core/host_device.h"

namespace nibble::inline numerics {

// |x| = integer · 2^exponent with an odd integer below 2^53, or both 0.
struct Significand {
  std::uint64_t integer = 0;
  int exponent = 0;
};

NIBBLE_HOST_DEVICE inline Significand significand_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFF;
  const std::uint64_t integer = field == 0 ? fraction : fraction | 0x10000000000000;
  if (integer == 0) return {};
  const int zeros = trailing_zeros(integer);
  return {integer >> zeros, (field == 0 ? 1 : field) - 1075 + zeros};
}

// Holds sums of products a·b where a and b are multiples of 2^-256 below 2^256 (every fp32 value
// and every posit of 32 bits is), which nobody checks: products are multiples of 2^-512 below
// 2^512, and 64 more bits leave room for 2^63 of them.
class ExactSum {
 public:
  static constexpr int kLowestExponent = -512;

  NIBBLE_HOST_DEVICE void add_product(double a, double b) {
    if (a == 0 || b == 0) return;
    const Significand sa = significand_of(a);
    const Significand sb = significand_of(b);
    const Wide product = static_cast<Wide>(sa.integer) * sb.integer;
    const int lowest_bit = sa.exponent + sb.exponent - kLowestExponent;
    const int shift = lowest_bit % 64;
    const Wide low = product << shift;
    const Wide high = shift == 0 ? 0 : product >> (128 - shift);
    const std::uint64_t parts[] = {static_cast<std::uint64_t>(low),
                                   static_cast<std::uint64_t>(low >> 64),
                                   static_cast<std::uint64_t>(high)};
    add_parts(static_cast<std::size_t>(lowest_bit / 64), parts, std::signbit(a) != std::signbit(b));
  }
  NIBBLE_HOST_DEVICE void add(double a) { add_product(a, 1.0); }

  NIBBLE_HOST_DEVICE int sign() const {  // -1, 0, +1
    if (words_[kWords - 1] >> 63) return -1;
    for (const std::uint64_t word : words_) {
      if (word != 0) return 1;
    }
    return 0;
  }

  // The sum rounded to odd in 53 bits: any later rounding to 51 bits or fewer is then as if from
  // the exact sum. Exact where 53 bits suffice.
  NIBBLE_HOST_DEVICE double to_double_odd() const {
    const int sum_sign = sign();
    if (sum_sign == 0) return 0.0;
    std::array<std::uint64_t, kWords> magnitude = words_;
    if (sum_sign < 0) {
      bool carry = true;
      for (std::uint64_t& word : magnitude) {
        word = ~word + (carry ? 1 : 0);
        carry = carry && word == 0;
      }
    }
    std::size_t top = kWords - 1;
    while (magnitude[top] == 0) --top;
    // The leading 64 bits, then everything below as one sticky bit.
    const int shift = leading_zeros(magnitude[top]);
    std::uint64_t leading = magnitude[top] << shift;
    bool sticky = false;
    if (top > 0) {
      if (shift > 0) leading |= magnitude[top - 1] >> (64 - shift);
      sticky = (magnitude[top - 1] << shift) != 0;
      for (std::size_t i = 0; i + 1 < top; ++i) sticky = sticky || magnitude[i] != 0;
    }
    sticky = sticky || (leading & 0x7FF) != 0;
    const std::uint64_t odd = (leading >> 11) | (sticky ? 1 : 0);
    const int exponent = kLowestExponent + static_cast<int>(top) * 64 - shift + 11;
    const double result = std::ldexp(static_cast<double>(odd), exponent);
    return sum_sign < 0 ? -result : result;
  }

 private:
  __extension__ typedef unsigned __int128 Wide;  // nvcc takes no __extension__ before `using`
  static constexpr std::size_t kWords = 17;

  // Three words from `first` on, then the carry or borrow as far as it goes.
  NIBBLE_HOST_DEVICE void add_parts(std::size_t first, const std::uint64_t (&parts)[3],
                                    bool negative) {
    Wide carry = negative ? 1 : 0;  // -p = ~p + 1
    for (std::size_t i = first, part = 0; i < kWords; ++i, ++part) {
      if (part >= 3 && carry == (negative ? 1 : 0)) return;
      const std::uint64_t magnitude = part < 3 ? parts[part] : 0;
      const Wide sum = carry + words_[i] + (negative ? ~magnitude : magnitude);
      words_[i] = static_cast<std::uint64_t>(sum);
      carry = sum >> 64;
    }
  }

  std::array<std::uint64_t, kWords> words_{};  // two's complement, least significant first
};

}  // namespace nibble::inline numerics
