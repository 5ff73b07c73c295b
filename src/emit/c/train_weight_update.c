// SPDX-License-Identifier: Apache-2.0
// The step of a weight. Its gradient is summed twice, for its largest entry and for the step, a
// stretch of weights at a time: no memory holds all of it.

// Into sums: the gradients of `count` weights, from `first` on, of the taps of filter `out` that
// begin at (ky, kx): of each error times the inputs beside each other that it met.
static void train_gradient_sums(const train_product *p, int32_t images, const int8_t *input,
                                const int8_t *error, int32_t out, int32_t ky, int32_t kx,
                                int32_t first, int32_t count, int32_t *sums) {
  for (int32_t i = 0; i < count; ++i) sums[i] = 0;
  error += out;
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
      const int32_t y = oy * p->stride_y - p->padding_y + ky * p->dilation_y;
      for (int32_t ox = 0; ox < p->out_width; ++ox, error += p->out_channels) {
        if (*error == 0 || y < 0 || y >= p->in_height) continue;
        const int32_t x = ox * p->stride_x - p->padding_x + kx * p->dilation_x;
        const int32_t begin = train_larger(train_larger(-x, 0) * p->depth, first);
        const int32_t end =
            train_smaller(train_smaller(p->row_taps, p->in_width - x) * p->depth, first + count);
        if (begin >= end) continue;
        train_add_scaled(sums + (begin - first), *error,
                         input + ((y * p->in_width + x) * p->in_channels + begin), end - begin);
      }
    }
    input += p->in_height * p->in_width * p->in_channels;
  }
}

static uint32_t train_weight_pass(const train_product *p, int32_t images, const int8_t *input,
                                  const int8_t *error, int8_t *weight, uint8_t shift) {
  const int32_t row = p->row_taps * p->depth;
  uint32_t largest = 0;
  int32_t sums[TRAIN_TILE];
  for (int32_t out = 0, end = p->outs; out < p->out_channels; ++out) {
    if (out == end) {
      input += p->depth;
      end += p->outs;
    }
    for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
      for (int32_t kx = 0; kx < p->kernel_x; kx += p->row_taps) {
        for (int32_t first = 0; first < row; first += TRAIN_TILE) {
          const int32_t count = train_smaller(TRAIN_TILE, row - first);
          train_gradient_sums(p, images, input, error, out, ky, kx, first, count, sums);
          const uint32_t found = train_move(sums, count, weight, shift);
          if (found > largest) largest = found;
          if (weight) weight += count;
        }
      }
    }
  }
  return largest;
}

static void train_weight_step(const train_product *p, int32_t images, const int8_t *input,
                              const int8_t *error, int8_t *weights, int8_t mu) {
  const int8_t shift = train_step_shift(train_weight_pass(p, images, input, error, NULL, 0), mu);
  if (shift >= 0) train_weight_pass(p, images, input, error, weights + p->weight, (uint8_t)shift);
}
