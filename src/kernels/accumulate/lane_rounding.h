// SPDX-License-Identifier: Apache-2.0
// Rounding to floats and grids in lanes of doubles, bit for bit as round_to has it.
//
// `L` is the vocabulary of an instruction set; each has its own in an anonymous namespace, so no
// code made from these templates is shared between files of different flags. For the same reason
// nothing of the standard library is called here.
#pragma once

#include <cstdint>

#include "kernels/accumulate/job.h"
#include "kernels/simd/inline.h"

namespace nibble::inline kernels::accumulation {

// Roundings that draw nothing.
template <class L>
struct NoDraws {
  NoDraws() = default;
  NIBBLE_INLINE NoDraws(const Job&, std::int64_t, std::int64_t) {}
};

// The draws of one output in each lane. Draws 4q to 4q+3 of an output (8q to 8q+7 of 16 bits) are
// the words of one Philox counter, so a lane makes a counter's words for itself and uses all of
// them.
template <class L>
class PhiloxDraws {
 public:
  using Real = typename L::Real;
  using Word = typename L::Word;

  PhiloxDraws() = default;
  NIBBLE_INLINE PhiloxDraws(const Job& job, std::int64_t row, std::int64_t column)
      : is_short_(job.random_bits <= 16), bits_(job.random_bits), key_(job.random) {
    const std::uint64_t groups = job.draws_per_output / (is_short_ ? 8 : 4);
    const std::int64_t output = row * job.operands.columns + column;
    group_ = L::add_words(L::word(static_cast<std::uint64_t>(output) * groups),
                          L::lane_multiples(groups));
  }

  // The next draw of every lane, plus 1.
  NIBBLE_INLINE Real next_plus_one() {
    const int place = static_cast<int>(count_++ & (is_short_ ? 7 : 3));
    if (place == 0) {
      make_words();
      group_ = L::add_words(group_, L::word(1));
    }
    Word draw;
    if (is_short_) {
      const Word half = L::shift_right(L::pick(words_, place / 2), place % 2 == 0 ? 0 : 16);
      draw = L::shift_right(L::and_words(half, L::word(0xFFFF)), 16 - bits_);
    } else {
      draw = L::shift_right(L::pick(words_, place), 32 - bits_);
    }
    return L::add(L::real_of(draw), L::real(1.0));
  }

 private:
  // Philox4x32-10 on 64-bit lanes that hold 32-bit words.
  NIBBLE_INLINE void make_words() {
    const Word low = L::word(0xFFFFFFFF);
    Word x0 = L::and_words(group_, low);
    Word x1 = L::shift_right(group_, 32);
    Word x2 = L::word(key_.step);
    Word x3 = L::word(key_.stream);
    auto k0 = static_cast<std::uint32_t>(key_.seed);
    auto k1 = static_cast<std::uint32_t>(key_.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Word p0 = L::multiply_low_halves(x0, L::word(0xD2511F53));
      const Word p1 = L::multiply_low_halves(x2, L::word(0xCD9E8D57));
      x0 = L::xor_words(L::xor_words(L::shift_right(p1, 32), x1), L::word(k0));
      x2 = L::xor_words(L::xor_words(L::shift_right(p0, 32), x3), L::word(k1));
      x1 = L::and_words(p1, low);
      x3 = L::and_words(p0, low);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    words_[0] = x0;
    words_[1] = x1;
    words_[2] = x2;
    words_[3] = x3;
  }

  bool is_short_ = false;
  int bits_ = 0;
  RandomKey key_;
  unsigned count_ = 0;
  Word group_;
  Word words_[4];
};

// To nearest even, floats with subnormals and both zeros. Adding 2^52 spacings makes the addition
// itself round at the spacing. Infinity gives a meaningless but finite addend and stays infinity.
template <class L>
class NearestFloat {
 public:
  using Real = typename L::Real;
  using Draws = NoDraws<L>;

  NIBBLE_INLINE NearestFloat(const LaneElement& element, int)
      : least_scale_(L::real(element.least_scale)),
        up_shift_(L::exponent(52 - element.mantissa_bits)),
        highest_(L::real(element.highest)),
        above_(L::real(element.above)) {}

  NIBBLE_INLINE Real operator()(Real x, Draws&) const {
    const Real y = L::magnitude(x);
    const Real scale = L::larger_power(L::binade(y), least_scale_);
    const Real addend = L::shift_exponent(scale, up_shift_);
    const Real rounded = L::sub(L::add(y, addend), addend);
    return L::with_sign_of(L::select(L::greater(rounded, highest_), above_, rounded), x);
  }

 private:
  Real least_scale_;
  typename L::Word up_shift_;
  Real highest_;
  Real above_;
};

// Any element the lanes cover, by one of the other roundings.
template <class L, LaneRounding kRounding>
class AnyElement {
 public:
  using Real = typename L::Real;
  static constexpr bool kDraws = kRounding == LaneRounding::stochastic;
  template <bool kChoice, class Yes, class No>
  struct Choose {
    using Type = Yes;
  };
  template <class Yes, class No>
  struct Choose<false, Yes, No> {
    using Type = No;
  };
  using Draws = typename Choose<kDraws, PhiloxDraws<L>, NoDraws<L>>::Type;

  NIBBLE_INLINE AnyElement(const LaneElement& element, int random_bits)
      : element_(element), fraction_unit_(static_cast<double>(std::uint64_t{1} << random_bits)) {}

  NIBBLE_INLINE Real operator()(Real x, Draws& draws) const {
    const Real y = L::magnitude(x);
    Real scale = L::larger_power(L::binade(y), L::real(element_.least_scale));
    scale = L::min(scale, L::real(element_.most_scale));
    scale = L::select(L::less(y, L::real(element_.flushes_below)), L::real(element_.flushed_scale),
                      scale);
    const Real addend = L::shift_exponent(scale, L::exponent(52 - element_.mantissa_bits));
    Real rounded = L::sub(L::add(y, addend), addend);
    if constexpr (kRounding != LaneRounding::nearest) {
      const Real spacing = L::shift_exponent(scale, L::exponent(-element_.mantissa_bits));
      const Real none = L::real(0.0);
      rounded = L::sub(rounded, L::select(L::greater(rounded, y), spacing, none));
      if constexpr (kDraws) {
        // Away where draw + 1 <= f·2^r; both sides times the spacing, all of it exact.
        const Real fraction = L::mul(L::sub(y, rounded), L::real(fraction_unit_));
        const Real threshold = L::mul(draws.next_plus_one(), spacing);
        rounded = L::add(rounded, L::select(L::less(fraction, threshold), none, spacing));
      }
    }
    return bounded(L::with_sign_of(rounded, x), x);
  }

 private:
  NIBBLE_INLINE Real bounded(Real value, Real x) const {
    value = L::select(L::greater(value, L::real(element_.highest)), L::real(element_.above), value);
    value = L::select(L::less(value, L::real(element_.lowest)), L::real(element_.below), value);
    if constexpr (kRounding == LaneRounding::toward_zero) {
      const Real infinity = L::real(__builtin_inf());
      const Real minus_infinity = L::real(-__builtin_inf());
      value = L::select(L::equal(x, infinity), L::real(element_.above_infinite), value);
      value = L::select(L::equal(x, minus_infinity), L::real(element_.below_infinite), value);
    }
    return L::add(value, L::real(element_.zero));
  }

  LaneElement element_;
  double fraction_unit_;
};

}  // namespace nibble::inline kernels::accumulation
