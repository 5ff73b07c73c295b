// SPDX-License-Identifier: Apache-2.0
// Each value by a table of 256, whose first entry belongs to the value `first`.
static void net_table(const int32_t *entries, int32_t first, const net_source *x, const net_sink *y,
                      int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i) net_put(y, i, NET_READ_S32(entries + (net_get(x, i) - first)));
}
