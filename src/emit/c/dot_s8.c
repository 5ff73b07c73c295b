// SPDX-License-Identifier: Apache-2.0
// sums[j] = the products of IN_t codes x[0], x[1] ... x[count - 1] with row j of the weights.
static inline void net_dot_IN_s8_SUM(const IN_t *x, const int8_t *weights, int32_t count,
                                     SUM_t *sum) {
  SUM_t s = 0;
  for (; count > 0; --count) s += (SUM_t)*x++ * NET_READ_S8(weights++);
  *sum = s;
}

// Four rows at once: each code is read once for four products.
NET_APART static void net_dot4_IN_s8_SUM(const IN_t *x, const int8_t *weights, int32_t count,
                                         SUM_t sums[4]) {
  const int8_t *w0 = weights, *w1 = w0 + count, *w2 = w1 + count, *w3 = w2 + count;
  SUM_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#ifdef NET_DSP_IN_SUM
  for (; count >= 4; count -= 4, x += 4) {
    const uint32_t codes = net_word(x);
    const uint32_t even = net_even_IN(codes), odd = net_odd_IN(codes);
    s0 = net_dot_word(even, odd, &w0, s0);
    s1 = net_dot_word(even, odd, &w1, s1);
    s2 = net_dot_word(even, odd, &w2, s2);
    s3 = net_dot_word(even, odd, &w3, s3);
  }
#endif
  for (; count > 0; --count) {
    const SUM_t v = *x++;
    s0 += v * NET_READ_S8(w0++);
    s1 += v * NET_READ_S8(w1++);
    s2 += v * NET_READ_S8(w2++);
    s3 += v * NET_READ_S8(w3++);
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}
