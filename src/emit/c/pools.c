// SPDX-License-Identifier: Apache-2.0
//@ sum_pool
// The sum of each window, finished. Means of what is inside: times factors[numbers inside].
static void net_sum_pool_SUM(const net_window* window, const net_finish* finish,
                             const int32_t* factors, const net_source* x, const net_source* addend,
                             const net_sink* y) {
  int32_t oy, ox, iy, ix, c;
  net_pixel pixel = {addend, y, 0, 0, 0};
  for (oy = 0; oy < window->out.y; ++oy) {
    const int32_t top = net_first(oy, window->stride.y, window->padding.y);
    const int32_t bottom =
        net_end(oy, window->stride.y, window->padding.y, window->kernel.y, window->in.y);
    for (ox = 0; ox < window->out.x; ++ox) {
      const int32_t left = net_first(ox, window->stride.x, window->padding.x);
      const int32_t right =
          net_end(ox, window->stride.x, window->padding.x, window->kernel.x, window->in.x);
      for (c = 0; c < window->channels; ++c) {
        SUM_t sum = 0;
        for (iy = top; iy < bottom; ++iy) {
          for (ix = left; ix < right; ++ix) {
            sum += net_get(x, (iy * window->in.x + ix) * window->channels + c);
          }
        }
        if (factors != NULL) sum *= NET_READ_S32(factors + (bottom - top) * (right - left));
        net_finish_row_SUM(finish, &pixel, &sum, c, 1);
      }
      pixel.addend_begin += window->channels;
      pixel.y_begin += window->channels;
    }
  }
}

//@ max_pool
// The largest of each window.
static void net_max_pool(const net_window* window, const net_source* x, const net_sink* y) {
  int32_t oy, ox, iy, ix, c;
  int32_t to = 0;
  for (oy = 0; oy < window->out.y; ++oy) {
    const int32_t top = net_first(oy, window->stride.y, window->padding.y);
    const int32_t bottom =
        net_end(oy, window->stride.y, window->padding.y, window->kernel.y, window->in.y);
    for (ox = 0; ox < window->out.x; ++ox) {
      const int32_t left = net_first(ox, window->stride.x, window->padding.x);
      const int32_t right =
          net_end(ox, window->stride.x, window->padding.x, window->kernel.x, window->in.x);
      for (c = 0; c < window->channels; ++c) {
        int32_t largest = -INT32_MAX;
        for (iy = top; iy < bottom; ++iy) {
          for (ix = left; ix < right; ++ix) {
            const int32_t v = net_get(x, (iy * window->in.x + ix) * window->channels + c);
            if (v > largest) largest = v;
          }
        }
        net_put(y, to++, largest);
      }
    }
  }
}
