// SPDX-License-Identifier: Apache-2.0
// The largest of each window.
static void net_max_pool(const net_window *window, const net_source *x, const net_sink *y) {
  int32_t oy, ox, ky, kx, c;
  int32_t to = 0;
  for (oy = 0; oy < window->out.y; ++oy) {
    for (ox = 0; ox < window->out.x; ++ox) {
      for (c = 0; c < window->channels; ++c) {
        int32_t largest = -INT32_MAX;
        for (ky = 0; ky < window->kernel.y; ++ky) {
          for (kx = 0; kx < window->kernel.x; ++kx) {
            const int32_t iy = net_tap(oy, window->stride.y, ky, window->padding.y);
            const int32_t ix = net_tap(ox, window->stride.x, kx, window->padding.x);
            if (net_is_inside(window, iy, ix)) {
              const int32_t v = net_get(x, (iy * window->in.x + ix) * window->channels + c);
              if (v > largest) largest = v;
            }
          }
        }
        net_put(y, to++, largest);
      }
    }
  }
}
