// SPDX-License-Identifier: Apache-2.0
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
