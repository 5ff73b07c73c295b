// SPDX-License-Identifier: Apache-2.0
//@ conv2d_layer
// A convolution and the max pool behind it, whose windows are single pixels where there is none.
typedef struct {
  net_window window;
  net_extent dilation;
  int32_t groups;
  int32_t depth;         // channels of a group
  int32_t run;           // taps of a row that lie side by side: the kernel's width, or 1
  uint8_t is_pointwise;  // a column is a pixel, no need to gather it
  net_window pool;
  net_product product;
} net_conv2d;

//@ conv2d
// A convolution: the codes under the kernel become a column, each row of weights meets it.
static const IN_t* net_gathered_IN_WEIGHT_SUM(const net_conv2d* layer, const net_source* x,
                                              int32_t oy, int32_t ox, int32_t group, IN_t* column) {
  const net_window* window = &layer->window;
  const int32_t depth = layer->depth;
  const int32_t run = layer->run;
  const IN_t* codes = (const IN_t*)x->codes + group * depth;
  IN_t* to = column;
  int32_t ky, kx, k;
  if (layer->is_pointwise) {
    return codes +
           (oy * window->stride.y * window->in.x + ox * window->stride.x) * window->channels;
  }
  for (ky = 0; ky < window->kernel.y; ++ky) {
    const int32_t iy = net_tap(oy, window->stride.y, ky * layer->dilation.y, window->padding.y);
    for (kx = 0; kx < window->kernel.x;) {
      const int32_t ix = net_tap(ox, window->stride.x, kx * layer->dilation.x, window->padding.x);
      const int32_t taps = kx == 0 && ix >= 0 && ix + run <= window->in.x ? run : 1;
      const int32_t count = taps * depth;
      if (net_is_inside(window, iy, ix)) {
        const IN_t* from = codes + (iy * window->in.x + ix) * window->channels;
        for (k = 0; k < count; ++k) to[k] = from[k];
      } else {
        for (k = 0; k < count; ++k) to[k] = (IN_t)x->zero;
      }
      to += count;
      kx += taps;
    }
  }
  return column;
}

static void net_conv2d_IN_WEIGHT_SUM(const net_conv2d* layer, const net_source* x,
                                     const net_source* addend, const net_sink* y, void* column) {
  const net_window* pool = &layer->pool;
  const int32_t channels = layer->groups * layer->product.outputs;
  int32_t py, px, oy, ox, group;
  net_pixel pixel = {addend, y, 0, 0, 0};
  for (py = 0; py < pool->out.y; ++py) {
    const int32_t top = net_first(py, pool->stride.y, pool->padding.y);
    const int32_t bottom = net_end(py, pool->stride.y, pool->padding.y, pool->kernel.y, pool->in.y);
    for (px = 0; px < pool->out.x; ++px) {
      const int32_t left = net_first(px, pool->stride.x, pool->padding.x);
      const int32_t right =
          net_end(px, pool->stride.x, pool->padding.x, pool->kernel.x, pool->in.x);
      pixel.keeps_larger = 0;
      for (oy = top; oy < bottom; ++oy) {
        for (ox = left; ox < right; ++ox) {
          pixel.addend_begin = (oy * pool->in.x + ox) * channels;
          for (group = 0; group < layer->groups; ++group) {
            net_outputs_IN_WEIGHT_SUM(
                &layer->product, net_gathered_IN_WEIGHT_SUM(layer, x, oy, ox, group, (IN_t*)column),
                group, &pixel);
          }
          pixel.keeps_larger = 1;
        }
      }
      pixel.y_begin += channels;
    }
  }
}
