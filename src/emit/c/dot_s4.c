// SPDX-License-Identifier: Apache-2.0
//@ halves
// The two 4-bit integers of a byte, two's complement.
#define NET_LOW_HALF(both) ((((both)&15) ^ 8) - 8)
#define NET_HIGH_HALF(both) ((((both) >> 4) ^ 8) - 8)

//@ dot_s4
// sums[j] = the products of IN_t codes x[0], x[1] ... x[count - 1] with row j of the weights, which
// lie two to a byte, low half first; a row begins with a byte of its own.
static inline void net_dot_IN_s4_SUM(const IN_t *x, const uint8_t *weights, int32_t count,
                                     SUM_t *sum) {
  SUM_t s = 0;
  for (; count >= 2; count -= 2, x += 2) {
    const uint8_t both = NET_READ_U8(weights++);
    s += (SUM_t)x[0] * NET_LOW_HALF(both) + (SUM_t)x[1] * NET_HIGH_HALF(both);
  }
  if (count > 0) s += (SUM_t)x[0] * NET_LOW_HALF(NET_READ_U8(weights));
  *sum = s;
}

// Four rows at once: each code is read once for four products.
NET_APART static void net_dot4_IN_s4_SUM(const IN_t *x, const uint8_t *weights, int32_t count,
                                         SUM_t sums[4]) {
  const int32_t row = (int32_t)((uint32_t)(count + 1) >> 1);
  const uint8_t *w0 = weights, *w1 = w0 + row, *w2 = w1 + row, *w3 = w2 + row;
  SUM_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (; count >= 2; count -= 2, x += 2) {
    const SUM_t u = x[0], v = x[1];
    uint8_t both = NET_READ_U8(w0++);
    s0 += u * NET_LOW_HALF(both) + v * NET_HIGH_HALF(both);
    both = NET_READ_U8(w1++);
    s1 += u * NET_LOW_HALF(both) + v * NET_HIGH_HALF(both);
    both = NET_READ_U8(w2++);
    s2 += u * NET_LOW_HALF(both) + v * NET_HIGH_HALF(both);
    both = NET_READ_U8(w3++);
    s3 += u * NET_LOW_HALF(both) + v * NET_HIGH_HALF(both);
  }
  if (count > 0) {
    const SUM_t u = x[0];
    s0 += u * NET_LOW_HALF(NET_READ_U8(w0));
    s1 += u * NET_LOW_HALF(NET_READ_U8(w1));
    s2 += u * NET_LOW_HALF(NET_READ_U8(w2));
    s3 += u * NET_LOW_HALF(NET_READ_U8(w3));
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}
