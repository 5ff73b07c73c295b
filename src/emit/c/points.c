// SPDX-License-Identifier: Apache-2.0
//@ points
// Each value by itself: bias, relu, rescale. It may be written over what it reads.
static void net_points_SUM(const net_finish *finish, const net_source *x, const net_sink *y,
                           int32_t pixels, int32_t channels) {
  int32_t i = 0;
  int32_t p, c;
  for (p = 0; p < pixels; ++p) {
    for (c = 0; c < channels; ++c, ++i) {
      net_put(y, i, net_finished_SUM(finish, net_get(x, i), 0, c));
    }
  }
}

//@ add
// The sum of two values, each scaled, finished. It may be written over either of them.
static void net_add_SUM(const net_finish *finish, const net_term *a_term, const net_source *a,
                        const net_source *b, const net_sink *y, int32_t pixels, int32_t channels) {
  int32_t i = 0;
  int32_t p, c;
  for (p = 0; p < pixels; ++p) {
    for (c = 0; c < channels; ++c, ++i) {
      const SUM_t sum = net_scaled(a_term, net_get(a, i), c);
      const int32_t addend = net_scaled(&finish->addend, net_get(b, i), c);
      net_put(y, i, net_finished_SUM(finish, sum, addend, c));
    }
  }
}

//@ table
// Each value by a table of 256, whose first entry belongs to the value `first`.
static void net_table(const int32_t *entries, int32_t first, const net_source *x, const net_sink *y,
                      int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i) net_put(y, i, NET_READ_S32(entries + (net_get(x, i) - first)));
}
