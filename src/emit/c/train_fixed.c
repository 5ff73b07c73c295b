// SPDX-License-Identifier: Apache-2.0
// Bit widths, rounding shifts, and randomness as a function of its counter.
#include <stddef.h>
#include <stdint.h>

static uint64_t train_magnitude(int64_t x) {
  return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

// The smallest b with 2^b >= m.
static uint8_t train_bits(uint64_t m) {
  uint8_t bits = 0;
  for (m = m > 0 ? m - 1 : 0; m > 0; m >>= 1) ++bits;
  return bits;
}

// What brings the largest sum down to 7 bits.
static uint8_t train_shift_for(uint64_t largest) {
  const uint8_t bits = train_bits(largest);
  return (uint8_t)(bits > 7 ? bits - 7 : 0);
}

// The magnitude, held at 127, with the sign of x.
static int8_t train_signed(int64_t x, uint64_t magnitude) {
  const int8_t held = (int8_t)(magnitude > 127 ? 127 : magnitude);
  return (int8_t)(x < 0 ? -held : held);
}

// x / 2^shift to the nearest, halves away from zero.
static int8_t train_nearest(int64_t x, uint8_t shift) {
  uint64_t magnitude = train_magnitude(x);
  if (shift > 0) magnitude = (magnitude + ((uint64_t)1 << (shift - 1))) >> shift;
  return train_signed(x, magnitude);
}

// a / b, rounded down, bit by bit: processors without division need no library.
static uint32_t train_divide(uint32_t a, uint32_t b) {
  uint64_t rest = a;
  uint32_t quotient = 0;
  for (uint8_t bit = 32; bit-- > 0;) {
    if (rest < (uint64_t)b << bit) continue;
    rest -= (uint64_t)b << bit;
    quotient |= UINT32_C(1) << bit;
  }
  return quotient;
}

// Philox4x32-10: element i of (seed, stream, step) has word i mod 4 of counter i div 4.
static uint32_t train_draw(uint64_t seed, uint32_t stream, uint32_t step, uint64_t element) {
  uint32_t x[4];
  uint32_t k0 = (uint32_t)seed;
  uint32_t k1 = (uint32_t)(seed >> 32);
  x[0] = (uint32_t)(element >> 2);
  x[1] = (uint32_t)(element >> 34);
  x[2] = step;
  x[3] = stream;
  for (uint8_t round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)UINT32_C(0xD2511F53) * x[0];
    const uint64_t p1 = (uint64_t)UINT32_C(0xCD9E8D57) * x[2];
    x[0] = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
    x[1] = (uint32_t)p1;
    x[2] = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
    x[3] = (uint32_t)p0;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
  return x[element & 3];
}
