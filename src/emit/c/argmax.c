// SPDX-License-Identifier: Apache-2.0
// The index of the largest; of equal ones the first.
static int32_t net_argmax(const net_source *x, int32_t count) {
  int32_t best = 0;
  int32_t i;
  for (i = 1; i < count; ++i) {
    if (net_get(x, i) > net_get(x, best)) best = i;
  }
  return best;
}
