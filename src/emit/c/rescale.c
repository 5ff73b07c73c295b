// SPDX-License-Identifier: Apache-2.0
// The rescale law: clamp(R(x * m, s), low, high), R to the nearest, ties away from zero.

// R(+-product, shift) for a product below 2^62 and a shift of 0 to 62; the ends are within
// +-(2^31 - 1). From a shift of 33 on the lower word has no say.
static inline int32_t net_rounded(uint64_t product, int is_negative, int32_t shift, int32_t low,
                                  int32_t high) {
  uint32_t magnitude;
  int32_t value;
  if (shift > 32) {
    magnitude = ((uint32_t)(product >> 32) + ((uint32_t)1 << (shift - 33))) >> (shift - 32);
  } else {
    if (shift > 0) product = (product + ((uint64_t)1 << (shift - 1))) >> shift;
    magnitude = product > INT32_MAX ? (uint32_t)INT32_MAX : (uint32_t)product;
  }
  value = is_negative ? -(int32_t)magnitude : (int32_t)magnitude;
  return value < low ? low : value > high ? high : value;
}

// R(x * m[channel], shift) of one of the values that meet in a sum.
typedef struct {
  const int32_t *multipliers;
  uint8_t multiplier_step;  // 1: one a channel; 0: one for all
  uint8_t shift;
} net_term;

static inline int32_t net_scaled(const net_term *term, int32_t x, int32_t channel) {
  const uint32_t m = (uint32_t)NET_READ_S32(term->multipliers + channel * term->multiplier_step);
  const uint32_t magnitude = x < 0 ? 0U - (uint32_t)x : (uint32_t)x;
  return net_rounded((uint64_t)magnitude * m, x < 0, term->shift, -INT32_MAX, INT32_MAX);
}
