// SPDX-License-Identifier: Apache-2.0
// The vocabulary of one lane, for machines without a vector unit that Nibble knows.
#include <bit>
#include <cmath>

#include "kernels/accumulate/tile.h"

namespace nibble::portable {
namespace {

struct Lanes {
  using Real = double;
  using Word = std::uint64_t;
  using Mask = bool;
  static constexpr int kLanes = 1;
  static constexpr int kRows = 4;
  static constexpr int kColumns = 1;

  static Real real(double x) { return x; }
  static Word word(std::uint64_t x) { return x; }

  static Real load(const float* from, int count) { return count > 0 ? *from : 0.0; }
  static void store(float* to, Real x, int) {
    *to = std::isnan(x) ? __builtin_nanf("") : static_cast<float>(x);
  }

  static Real add(Real x, Real y) { return x + y; }
  static Real sub(Real x, Real y) { return x - y; }
  static Real mul(Real x, Real y) { return x * y; }
  static Real min(Real x, Real y) { return x < y ? x : y; }
  static Real max(Real x, Real y) { return x > y ? x : y; }
  static Real add_odd(Real x, Real y) { return accumulation::sum_to_odd(x, y); }

  static Real negative(Real x) { return -x; }
  static Real magnitude(Real x) { return std::fabs(x); }
  static Real with_sign_of(Real y, Real x) { return std::copysign(y, x); }

  // 2^floor(log2 y) of a normal y.
  static Real binade(Real y) {
    return std::bit_cast<double>(std::bit_cast<Word>(y) & 0x7FF0000000000000);
  }
  static Word exponent(std::int64_t e) { return static_cast<Word>(e) << 52; }
  static Real shift_exponent(Real x, Word exponent) {
    return std::bit_cast<double>(std::bit_cast<Word>(x) + exponent);
  }

  static Mask greater(Real x, Real y) { return x > y; }
  static Mask less(Real x, Real y) { return x < y; }
  static Mask equal(Real x, Real y) { return x == y; }
  static Real select(Mask mask, Real yes, Real no) { return mask ? yes : no; }

  static Word add_words(Word x, Word y) { return x + y; }
  static Word and_words(Word x, Word y) { return x & y; }
  static Word xor_words(Word x, Word y) { return x ^ y; }
  static Word multiply_low_halves(Word x, Word y) { return (x & 0xFFFFFFFF) * (y & 0xFFFFFFFF); }
  static Word shift_right(Word x, int bits) { return x >> bits; }
  static Word lane_multiples(std::uint64_t) { return 0; }
  static Real real_of(Word x) { return static_cast<double>(x); }
};

}  // namespace

accumulation::TileKernel tile_kernel(const accumulation::Job& job) {
  return accumulation::choose_kernel<Lanes>(job);
}

}  // namespace nibble::portable
