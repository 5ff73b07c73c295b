// SPDX-License-Identifier: Apache-2.0
// The sum of each window, finished. Means of what is inside: times factors[numbers inside].
static void net_sum_pool_SUM(const net_window *window, const net_finish *finish,
                             const int32_t *factors, const net_source *x, const net_source *addend,
                             const net_sink *y) {
  int32_t oy, ox, ky, kx, c;
  net_pixel pixel = {addend, y, 0, 0, 0};
  for (oy = 0; oy < window->out.y; ++oy) {
    for (ox = 0; ox < window->out.x; ++ox) {
      for (c = 0; c < window->channels; ++c) {
        SUM_t sum = 0;
        int32_t count = 0;
        for (ky = 0; ky < window->kernel.y; ++ky) {
          for (kx = 0; kx < window->kernel.x; ++kx) {
            const int32_t iy = net_tap(oy, window->stride.y, ky, window->padding.y);
            const int32_t ix = net_tap(ox, window->stride.x, kx, window->padding.x);
            if (!net_is_inside(window, iy, ix)) continue;
            sum += net_get(x, (iy * window->in.x + ix) * window->channels + c);
            ++count;
          }
        }
        if (factors != NULL) sum *= NET_READ_S32(factors + count);
        net_finish_row_SUM(finish, &pixel, &sum, c, 1);
      }
      pixel.addend_begin += window->channels;
      pixel.y_begin += window->channels;
    }
  }
}
