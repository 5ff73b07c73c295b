// SPDX-License-Identifier: Apache-2.0
// An exact accumulator of products.
#include "nibble/numerics/quire.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "nibble/core/error.h"

namespace nibble {
namespace {

__extension__ using u128 = unsigned __int128;

struct Significand {
  std::uint64_t integer = 0;  // below 2^53
  int exponent = 0;           // |x| = integer · 2^exponent
};

Significand significand_of(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  auto integer = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int zeros = integer == 0 ? 0 : std::countr_zero(integer);
  return {integer >> zeros, exponent - 53 + zeros};
}

}  // namespace

void Quire::add_product(double a, double b) {
  const auto refuse = [&] {
    throw Error("quire", "operand out of range", std::to_string(a) + " * " + std::to_string(b),
                "finite values that are multiples of 2^-256 below 2^256");
  };
  if (!std::isfinite(a) || !std::isfinite(b)) refuse();
  if (a == 0 || b == 0) return;
  const Significand sa = significand_of(a);
  const Significand sb = significand_of(b);
  const u128 product = static_cast<u128>(sa.integer) * sb.integer;
  const int lowest_bit = sa.exponent + sb.exponent - kLowestExponent;
  const auto width = static_cast<int>(std::bit_width(sa.integer) + std::bit_width(sb.integer));
  if (lowest_bit < 0 || lowest_bit + width > 1024) refuse();
  // The product over three words, then one pass of carry or borrow.
  const int shift = lowest_bit % 64;
  const u128 low = product << shift;
  const u128 high = shift == 0 ? 0 : product >> (128 - shift);
  const std::array<std::uint64_t, 3> parts = {static_cast<std::uint64_t>(low),
                                              static_cast<std::uint64_t>(low >> 64),
                                              static_cast<std::uint64_t>(high)};
  const bool negative = std::signbit(a) != std::signbit(b);
  u128 carry = negative ? 1 : 0;  // -p = ~p + 1
  for (auto i = static_cast<std::size_t>(lowest_bit / 64), part = std::size_t{0}; i < words_.size();
       ++i, ++part) {
    const std::uint64_t magnitude = part < parts.size() ? parts[part] : 0;
    const u128 sum = carry + words_[i] + (negative ? ~magnitude : magnitude);
    words_[i] = static_cast<std::uint64_t>(sum);
    carry = sum >> 64;
  }
}

int Quire::sign() const {
  if (words_.back() >> 63) return -1;
  for (const std::uint64_t word : words_) {
    if (word != 0) return 1;
  }
  return 0;
}

double Quire::to_double_odd() const {
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
  std::size_t top = magnitude.size() - 1;
  while (magnitude[top] == 0) --top;
  // The leading 64 bits, then everything below as one sticky bit.
  const int shift = std::countl_zero(magnitude[top]);
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

}  // namespace nibble
