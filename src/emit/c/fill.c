// SPDX-License-Identifier: Apache-2.0
// Zeros, before a smaller picture is put into their midst.
static void net_fill(const net_sink *y, int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i) net_put(y, i, 0);
}
