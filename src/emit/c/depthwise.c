// SPDX-License-Identifier: Apache-2.0
//@ taps
// Which taps of a kernel fall on the input along one axis.
typedef struct {
  int32_t first;
  int32_t count;
  int32_t at;  // where on the input the first one falls
} net_taps;

static net_taps net_taps_inside(int32_t begin, int32_t dilation, int32_t kernel, int32_t size) {
  net_taps taps = {0, 0, begin};
  int32_t end;
  for (; taps.first < kernel && taps.at < 0; taps.at += dilation) ++taps.first;
  for (end = taps.at; taps.first + taps.count < kernel && end < size; end += dilation) ++taps.count;
  return taps;
}

//@ depthwise
// A convolution of each channel by itself; weights lie as taps of channels.
typedef struct {
  const IN_t *codes;      // under the first tap
  const int8_t *weights;  // of the first tap
  int32_t zero;
  int32_t rows;
  int32_t columns;
  int32_t code_column;  // codes from a tap to the next
  int32_t code_row;     // from the end of a row of taps to the next row
  int32_t weight_column;
  int32_t weight_row;
} net_patch_IN_SUM;

static SUM_t net_filtered_IN_SUM(const net_patch_IN_SUM *patch, int32_t channel) {
  const IN_t *codes = patch->codes + channel;
  const int8_t *w = patch->weights + channel;
  SUM_t s = 0;
  int32_t r, k;
  for (r = 0; r < patch->rows; ++r) {
    for (k = 0; k < patch->columns; ++k) {
      s += (SUM_t)(*codes - patch->zero) * NET_READ_S8(w);
      codes += patch->code_column;
      w += patch->weight_column;
    }
    codes += patch->code_row;
    w += patch->weight_row;
  }
  return s;
}

// Of four channels from `channel` on.
NET_APART static void net_filtered4_IN_SUM(const net_patch_IN_SUM *patch, int32_t channel,
                                           SUM_t sums[4]) {
  const IN_t *codes = patch->codes + channel;
  const int8_t *w = patch->weights + channel;
  SUM_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int32_t r, k;
  for (r = 0; r < patch->rows; ++r) {
    for (k = 0; k < patch->columns; ++k) {
      s0 += (SUM_t)(codes[0] - patch->zero) * NET_READ_S8(w);
      s1 += (SUM_t)(codes[1] - patch->zero) * NET_READ_S8(w + 1);
      s2 += (SUM_t)(codes[2] - patch->zero) * NET_READ_S8(w + 2);
      s3 += (SUM_t)(codes[3] - patch->zero) * NET_READ_S8(w + 3);
      codes += patch->code_column;
      w += patch->weight_column;
    }
    codes += patch->code_row;
    w += patch->weight_row;
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

static net_patch_IN_SUM net_patch_at_IN_SUM(const net_conv2d *layer, const net_source *x,
                                            int32_t oy, int32_t ox) {
  const net_window *window = &layer->window;
  const int32_t channels = window->channels;
  const net_taps rows = net_taps_inside(net_tap(oy, window->stride.y, 0, window->padding.y),
                                        layer->dilation.y, window->kernel.y, window->in.y);
  const net_taps columns = net_taps_inside(net_tap(ox, window->stride.x, 0, window->padding.x),
                                           layer->dilation.x, window->kernel.x, window->in.x);
  net_patch_IN_SUM patch;
  patch.codes = (const IN_t *)x->codes;
  patch.weights = (const int8_t *)layer->product.weights;
  patch.zero = x->zero;
  patch.rows = columns.count > 0 ? rows.count : 0;
  patch.columns = columns.count;
  patch.code_column = layer->dilation.x * channels;
  patch.code_row = layer->dilation.y * window->in.x * channels - columns.count * patch.code_column;
  patch.weight_column = channels;
  patch.weight_row = (window->kernel.x - columns.count) * channels;
  if (patch.rows > 0) {
    patch.codes += (rows.at * window->in.x + columns.at) * channels;
    patch.weights += (rows.first * window->kernel.x + columns.first) * channels;
  }
  return patch;
}

static void net_depthwise_IN_SUM(const net_conv2d *layer, const net_source *x,
                                 const net_source *addend, const net_sink *y) {
  const net_finish *finish = &layer->product.finish;
  const int32_t channels = layer->window.channels;
  const int32_t fours = channels & ~INT32_C(3);
  int32_t oy, ox, c;
  net_pixel pixel = {addend, y, 0, 0, 0};
  SUM_t sums[4];
  for (oy = 0; oy < layer->window.out.y; ++oy) {
    for (ox = 0; ox < layer->window.out.x; ++ox) {
      const net_patch_IN_SUM patch = net_patch_at_IN_SUM(layer, x, oy, ox);
      for (c = 0; c < fours; c += 4) {
        net_filtered4_IN_SUM(&patch, c, sums);
        net_finish_row_SUM(finish, &pixel, sums, c, 4);
      }
      for (; c < channels; ++c) {
        sums[0] = net_filtered_IN_SUM(&patch, c);
        net_finish_row_SUM(finish, &pixel, sums, c, 1);
      }
      pixel.addend_begin += channels;
      pixel.y_begin += channels;
    }
  }
}
