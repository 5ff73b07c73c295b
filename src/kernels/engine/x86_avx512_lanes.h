// SPDX-License-Identifier: Apache-2.0
// Rounding shifts, masks and bytes of AVX-512 lanes; for the files of paths that have it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace nibble::inline kernels {
namespace {  // a copy for each file: they are compiled with flags of their own

// R(x, s) of 32-bit lanes where |x| + 2^(s-1) is below 2^31: (x + 2^(s-1) - [x < 0]) >> s.
// Counts lie in vectors: shifts by them take half of what those by one number take.
struct NarrowShift {
  __m512i half;
  __m512i shift;
  __mmask16 rounds;  // all lanes, none where s is 0

  explicit NarrowShift(int s)
      : half(_mm512_set1_epi32(s == 0 ? 0 : 1 << (s - 1))),
        shift(_mm512_set1_epi32(s)),
        rounds(s == 0 ? 0 : 0xFFFF) {}

  __m512i operator()(__m512i x) const {
    const __m512i below_zero = _mm512_maskz_srai_epi32(rounds, x, 31);
    return shifted(_mm512_add_epi32(x, below_zero));
  }
  // The same for x >= 0; of x < 0 not above 0.
  __m512i shifted(__m512i x) const { return _mm512_srav_epi32(_mm512_add_epi32(x, half), shift); }
};

// R(x, s) of eight 64-bit lanes.
struct WideShift {
  __m512i half;
  __m512i shift;

  explicit WideShift(int s)
      : half(_mm512_set1_epi64(s == 0 ? 0 : std::int64_t{1} << (s - 1))),
        shift(_mm512_set1_epi64(s)) {}

  __m512i operator()(__m512i product) const {
    const __m512i magnitude = shifted(_mm512_abs_epi64(product));
    return _mm512_mask_sub_epi64(magnitude, _mm512_movepi64_mask(product), _mm512_setzero_si512(),
                                 magnitude);
  }
  // The same for a product >= 0; of one below 0 not above 0.
  __m512i shifted(__m512i product) const {
    return _mm512_srav_epi64(_mm512_add_epi64(product, half), shift);
  }
};

// Read once: compilers like to read from memory again what several instructions take.
[[gnu::always_inline]] inline __m512i in_register(__m512i x) {
  __asm__("" : "+v"(x));
  return x;
}

// Sums of 32 bits and the products of unsigned bytes with signed ones, where VNNI is. GCC 12 does not
// always see that sums can stay where they are, and copies them in loops.
[[gnu::always_inline]] inline __m512i plus_products(__m512i sums, __m512i bytes, __m512i weights) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(bytes), "v"(weights));
  return sums;
}

// Eight of 16 lanes, twice as wide.
inline __m512i low_half(__m512i x) {
  return _mm512_cvtepi32_epi64(_mm512_castsi512_si256(x));
}
inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << count) - 1);
}
inline __mmask64 first_bytes(std::int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}
inline __m512i bytes_of(std::int64_t number) {
  return _mm512_set1_epi8(static_cast<char>(number < 0 ? 0 : number > 255 ? 255 : number));
}

}  // namespace
}  // namespace nibble::inline kernels
