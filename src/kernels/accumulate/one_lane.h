// SPDX-License-Identifier: Apache-2.0
// The vocabulary of one lane: machines without a vector unit that Nibble knows, threads of a GPU.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/accumulate/double_sums.h"
#include "kernels/simd/inline.h"

namespace nibble::inline kernels::portable {

struct OneLane {
  using Real = double;
  using Word = std::uint64_t;
  using Mask = bool;
  static constexpr int kLanes = 1;
  static constexpr int kRows = 4;
  static constexpr int kColumns = 1;

  NIBBLE_INLINE static Real real(double x) { return x; }
  NIBBLE_INLINE static Word word(std::uint64_t x) { return x; }

  NIBBLE_INLINE static Real load(const float* from, int count) { return count > 0 ? *from : 0.0; }
  NIBBLE_INLINE static void store(float* to, Real x, int) { *to = accumulation::stored(x); }

  NIBBLE_INLINE static Real add(Real x, Real y) { return x + y; }
  NIBBLE_INLINE static Real sub(Real x, Real y) { return x - y; }
  NIBBLE_INLINE static Real mul(Real x, Real y) { return x * y; }
  NIBBLE_INLINE static Real min(Real x, Real y) { return x < y ? x : y; }
  // Of two powers of two, or infinity.
  NIBBLE_INLINE static Real larger_power(Real x, Real y) { return x > y ? x : y; }
  NIBBLE_INLINE static Real add_odd(Real x, Real y) { return accumulation::sum_to_odd(x, y); }

  NIBBLE_INLINE static Real negative(Real x) { return -x; }
  NIBBLE_INLINE static Real magnitude(Real x) { return std::fabs(x); }
  NIBBLE_INLINE static Real with_sign_of(Real y, Real x) { return std::copysign(y, x); }

  // 2^floor(log2 y) of a normal y.
  NIBBLE_INLINE static Real binade(Real y) {
    return std::bit_cast<double>(std::bit_cast<Word>(y) & 0x7FF0000000000000);
  }
  NIBBLE_INLINE static Word exponent(std::int64_t e) { return static_cast<Word>(e) << 52; }
  NIBBLE_INLINE static Real shift_exponent(Real x, Word exponent) {
    return std::bit_cast<double>(std::bit_cast<Word>(x) + exponent);
  }

  NIBBLE_INLINE static Mask greater(Real x, Real y) { return x > y; }
  NIBBLE_INLINE static Mask less(Real x, Real y) { return x < y; }
  NIBBLE_INLINE static Mask equal(Real x, Real y) { return x == y; }
  NIBBLE_INLINE static Real select(Mask mask, Real yes, Real no) { return mask ? yes : no; }

  NIBBLE_INLINE static Word add_words(Word x, Word y) { return x + y; }
  NIBBLE_INLINE static Word and_words(Word x, Word y) { return x & y; }
  NIBBLE_INLINE static Word xor_words(Word x, Word y) { return x ^ y; }
  NIBBLE_INLINE static Word multiply_low_halves(Word x, Word y) {
    return (x & 0xFFFFFFFF) * (y & 0xFFFFFFFF);
  }
  NIBBLE_INLINE static Word shift_right(Word x, int bits) { return x >> bits; }
  NIBBLE_INLINE static Word pick(const Word* words, int index) { return words[index]; }
  NIBBLE_INLINE static Word lane_multiples(std::uint64_t) { return 0; }
  NIBBLE_INLINE static Real real_of(Word x) { return static_cast<double>(x); }
};

}  // namespace nibble::inline kernels::portable
