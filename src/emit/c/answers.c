// SPDX-License-Identifier: Apache-2.0
//@ softmax_table
// Shares of `high` in proportion to entries[largest - x], rounded.
static void net_softmax_table(const int32_t *entries, int32_t high, const net_source *x,
                              const net_sink *y, int32_t count) {
  int32_t largest = net_get(x, 0);
  uint64_t sum = 0;
  int32_t i;
  int pass;
  for (i = 1; i < count; ++i) {
    if (net_get(x, i) > largest) largest = net_get(x, i);
  }
  for (pass = 0; pass < 2; ++pass) {
    for (i = 0; i < count; ++i) {
      const int64_t below = (int64_t)largest - net_get(x, i);
      const uint64_t entry = (uint64_t)NET_READ_S32(entries + (below > 255 ? 255 : below));
      if (pass == 0) {
        sum += entry;
      } else {
        net_put(y, i, (int32_t)((2 * (uint64_t)high * entry + sum) / (2 * sum)));
      }
    }
  }
}

//@ argmax
// The index of the largest; of equal ones the first.
static int32_t net_argmax(const net_source *x, int32_t count) {
  int32_t best = 0;
  int32_t i;
  for (i = 1; i < count; ++i) {
    if (net_get(x, i) > net_get(x, best)) best = i;
  }
  return best;
}
