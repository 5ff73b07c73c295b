// SPDX-License-Identifier: Apache-2.0
// The vector vocabulary with one lane: what each word means, and the path of machines without AVX2.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/simd/inline.h"

namespace nibble::inline kernels::portable {

struct Simd {
  using F = float;
  using U = std::uint32_t;
  using M = bool;
  static constexpr std::size_t kLanes = 1;

  NIBBLE_INLINE static F load(const float* p) { return *p; }
  NIBBLE_INLINE static U load(const std::uint32_t* p) { return *p; }
  NIBBLE_INLINE static void store(float* p, F x) { *p = x; }
  NIBBLE_INLINE static void store(std::uint32_t* p, U x) { *p = x; }
  NIBBLE_INLINE static F load_first(const float* p, std::size_t) { return *p; }
  NIBBLE_INLINE static U load_first(const std::uint32_t* p, std::size_t) { return *p; }
  NIBBLE_INLINE static void store_first(float* p, F x, std::size_t) { *p = x; }
  NIBBLE_INLINE static void stream(float* p, F x) {
    *p = x;
  }  // past the caches where the machine can

  NIBBLE_INLINE static F set(float x) { return x; }
  NIBBLE_INLINE static U set(std::uint32_t x) { return x; }
  NIBBLE_INLINE static U bits(F x) { return std::bit_cast<U>(x); }
  NIBBLE_INLINE static F floats(U x) { return std::bit_cast<F>(x); }

  NIBBLE_INLINE static F add(F a, F b) { return a + b; }
  NIBBLE_INLINE static F sub(F a, F b) { return a - b; }
  NIBBLE_INLINE static F mul(F a, F b) { return a * b; }
  NIBBLE_INLINE static F div(F a, F b) { return a / b; }
  NIBBLE_INLINE static F min(F a, F b) { return a < b ? a : b; }  // b where either is NaN
  NIBBLE_INLINE static F max(F a, F b) { return a > b ? a : b; }  // b where either is NaN
  NIBBLE_INLINE static F round_even(F x) { return std::nearbyint(x); }
  NIBBLE_INLINE static F truncate(F x) { return std::trunc(x); }
  NIBBLE_INLINE static F from_int(U x) { return static_cast<F>(static_cast<std::int32_t>(x)); }
  NIBBLE_INLINE static U to_int(F x) {  // INT_MIN where x does not fit
    return x >= -0x1p31F && x < 0x1p31F ? static_cast<U>(static_cast<std::int32_t>(x))
                                        : 0x80000000U;
  }

  NIBBLE_INLINE static U add(U a, U b) { return a + b; }
  NIBBLE_INLINE static U sub(U a, U b) { return a - b; }
  NIBBLE_INLINE static U and_(U a, U b) { return a & b; }
  NIBBLE_INLINE static U or_(U a, U b) { return a | b; }
  NIBBLE_INLINE static U xor_(U a, U b) { return a ^ b; }
  NIBBLE_INLINE static U shl(U a, U n) {
    return n < 32 ? a << n : 0;
  }  // counts are unsigned; 32 and more give 0
  NIBBLE_INLINE static U shr(U a, U n) { return n < 32 ? a >> n : 0; }
  NIBBLE_INLINE static U sar(U a, U n) {
    return static_cast<U>(static_cast<std::int32_t>(a) >> (n < 32 ? n : 31));
  }
  NIBBLE_INLINE static U max_unsigned(U a, U b) { return a > b ? a : b; }
  NIBBLE_INLINE static U min_unsigned(U a, U b) { return a < b ? a : b; }
  NIBBLE_INLINE static U max_signed(U a, U b) { return less_signed(a, b) ? b : a; }
  NIBBLE_INLINE static U min_signed(U a, U b) { return less_signed(a, b) ? a : b; }
  NIBBLE_INLINE static std::uint32_t largest(U a) { return a; }  // over the lanes, unsigned

  NIBBLE_INLINE static M equal(U a, U b) { return a == b; }
  NIBBLE_INLINE static M less_unsigned(U a, U b) { return a < b; }
  NIBBLE_INLINE static M less_signed(U a, U b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  }
  NIBBLE_INLINE static M less(F a, F b) { return a < b; }
  NIBBLE_INLINE static M less_equal(F a, F b) { return a <= b; }
  NIBBLE_INLINE static M equal(F a, F b) { return a == b; }
  NIBBLE_INLINE static M not_(M a) { return !a; }
  NIBBLE_INLINE static M both(M a, M b) { return a && b; }
  NIBBLE_INLINE static M either(M a, M b) { return a || b; }
  NIBBLE_INLINE static M none() { return false; }
  NIBBLE_INLINE static std::uint32_t mask_bits(M a) { return a ? 1 : 0; }  // lane 0 in bit 0
  NIBBLE_INLINE static U select(M m, U yes, U no) { return m ? yes : no; }
  NIBBLE_INLINE static F select(M m, F yes, F no) { return m ? yes : no; }

  // floor(x · 2^32) for 0 <= x < 1; anything where x is NaN.
  NIBBLE_INLINE static U fraction32(F x) {
    return x >= 0 && x < 1 ? static_cast<U>(x * 0x1p32F) : 0;
  }

  // Sixteen floats by index 0 to 15; any number of them by address.
  struct Table16 {
    const float* entries;
  };
  NIBBLE_INLINE static Table16 table16(const float* p) { return {p}; }
  NIBBLE_INLINE static F lookup(const Table16& t, U index) { return t.entries[index]; }
  NIBBLE_INLINE static F gather(const float* p, U index) { return p[index]; }

  // Philox: kCounters counters, a 32-bit word of each in the low half of a 64-bit lane. The upper
  // halves hold anything: multiply_low does not look at them. store_blocks writes the low halves of
  // the four words counter by counter.
  using W = std::uint64_t;
  static constexpr std::size_t kCounters = 1;
  static constexpr std::size_t kBatch = 1;  // vectors of counters to run side by side
  NIBBLE_INLINE static W counters(std::uint64_t first) { return first; }
  NIBBLE_INLINE static W wide(std::uint32_t x) { return x; }
  NIBBLE_INLINE static W multiply_low(W a, W b) { return (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU); }
  NIBBLE_INLINE static W high_half(W a) { return a >> 32; }
  NIBBLE_INLINE static W xor3(W a, W b, W c) { return a ^ b ^ c; }
  NIBBLE_INLINE static void store_blocks(std::uint32_t* p, W w0, W w1, W w2, W w3) {
    p[0] = static_cast<std::uint32_t>(w0);
    p[1] = static_cast<std::uint32_t>(w1);
    p[2] = static_cast<std::uint32_t>(w2);
    p[3] = static_cast<std::uint32_t>(w3);
  }
};

}  // namespace nibble::inline kernels::portable
