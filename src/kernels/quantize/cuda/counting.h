// SPDX-License-Identifier: Apache-2.0
// Codes counted in the last bits of a sum: what the encoding kernels compute for an element, and
// what the host can compute as well.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/simd/cuda_lane.cuh"

namespace nibble::cuda {

inline constexpr float kCounting = 0x1.8p23F;  // adding it rounds to an integer in the last bits

// A code's magnitude is how many steps of its binade there are beyond those below it.
struct FloatCoding {
  float limit = 0;               // what counts no more: the largest number, or the code after it
  std::uint32_t least = 0;       // 2^emin as fp32 bits: below it steps stay as they are
  std::uint32_t shift = 0;       // 23 - m
  float factor = 0;              // 2^(23-m), so that adding it counts; its last bits take emin off
  float sure = 0;                // how far from a step, in 2^e, no error of a guess matters
  std::uint32_t magnitudes = 0;  // of the codes of a word, one a field
  std::uint32_t signs = 0;
  int sign_shift = 0;          // from the top of a field
  std::uint32_t has_sign = 0;  // added to magnitudes, reaches a field's top where a sign may stand
};

struct CountedFloat {
  float inside;  // |x| within the limit
  float binade;
  float sum;
  std::uint32_t count;  // the code's magnitude in its last bits
};

NIBBLE_INLINE CountedFloat counted(const FloatCoding& p, float x) {
  CountedFloat c;
  c.inside = BoundedLane::min(std::fabs(x), p.limit);
  const std::uint32_t binade = Lane::max_unsigned(Lane::bits(c.inside) & 0x7F800000U, p.least);
  c.binade = Lane::floats(binade);
  c.sum = std::fma(c.binade, p.factor, c.inside);
  c.count = (binade >> p.shift) + Lane::bits(c.sum);
  return c;
}

// The codes of a word: counts in the last bits of its fields, signs at the top of `patterns`.
NIBBLE_INLINE std::uint32_t signed_codes(const FloatCoding& p, std::uint32_t counts,
                                         std::uint32_t patterns) {
  const std::uint32_t magnitudes = counts & p.magnitudes;
  return magnitudes | ((patterns & (magnitudes + p.has_sign)) >> p.sign_shift & p.signs);
}

// Floats of fp32's exponents, bf16 among them: the code is the upper bits of a number, sign,
// subnormals and infinity included, and what rounding carries goes where it belongs.
struct UpperBitsCoding {
  std::uint32_t shift = 0;  // 23 - m; 0: of no use here
  std::uint32_t half_less_one = 0;
};

NIBBLE_INLINE std::uint32_t upper_bits(const UpperBitsCoding& p, std::uint32_t pattern) {
  return (pattern + p.half_less_one + (pattern >> p.shift & 1U)) >> p.shift;
}

// A posit's regime, as a run of bits, is to its code what an exponent is to a number: with
// L = log2|x| by straight lines between the regimes' powers, the code c of 0 < x <= 1 is
// 2^(n-2)·2^L by straight lines as well, which is what fp32 bits say, and that of 1/x is 2^(n-1) -
// c.
struct PositCoding {
  std::uint32_t last = 0;  // of the doubled pattern less its bias: where the regime is longest
  int shift = 1;           // 1 + es
  std::uint32_t lost = 0;  // what the shift cuts off
  std::uint32_t one = 0;   // bits of 2^(n-2)
  std::uint32_t codes = 0;
  std::uint32_t tops = 0;  // of the codes of a word, one a field
  int top_shift = 0;
};

// L from fp32 bits, 2^(24 + es) times and signed.
NIBBLE_INLINE std::uint32_t doubled_log(std::uint32_t pattern) {
  return 2 * pattern - 0x7F000000U;
}
NIBBLE_INLINE std::uint32_t length_of(std::uint32_t doubled) {
  const std::uint32_t sign = Lane::sar(doubled, 31U);
  return (doubled ^ sign) - sign;
}

// From the bits of 2^(n-2)·2^-|L|: the code in the last n bits, but the first of them is the other
// one where L is not negative.
NIBBLE_INLINE std::uint32_t posit_count(std::uint32_t pattern, std::uint32_t doubled,
                                        std::uint32_t line) {
  const std::uint32_t turned = line ^ ((pattern ^ ~doubled) & 0x80000000U);
  return Lane::bits(Lane::floats(turned) + kCounting);
}

// The same of any number but 0, rounded: never to zero, never beyond the largest.
NIBBLE_INLINE std::uint32_t counted(const PositCoding& p, std::uint32_t pattern,
                                    std::uint32_t doubled) {
  const std::uint32_t length = Lane::min_unsigned(length_of(doubled), p.last);
  return posit_count(pattern, doubled, p.one - (length >> p.shift | (length & p.lost)));
}

}  // namespace nibble::cuda
