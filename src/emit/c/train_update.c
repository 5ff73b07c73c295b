// SPDX-License-Identifier: Apache-2.0
//@ train_update
// What gradients do to weights.

// x / 2^shift, where what is cut decides for itself whether the result goes up.
static int8_t train_pseudo(int32_t x, uint8_t shift) {
  const uint64_t magnitude = train_magnitude(x);
  const uint8_t half = shift / 2;
  const uint64_t cut = magnitude & (((uint64_t)1 << shift) - 1);
  const uint64_t upper = cut >> half;
  const uint64_t lower = (cut & (((uint64_t)1 << half) - 1)) << shift % 2;
  return train_signed(x, (magnitude >> shift) + (upper > lower ? 1 : 0));
}

// The shift that leaves mu bits of the largest gradient; -1: it moves nothing.
static int8_t train_step_shift(uint32_t largest, int8_t mu) {
  const uint8_t bits = train_bits(largest);
  if (bits == 0) return -1;
  return (int8_t)(bits > mu ? bits - mu : 0);
}

// Looks at gradients of neighbouring weights, or moves the weights by them where there are weights.
static uint32_t train_move(const int32_t *gradient, int32_t count, int8_t *weight, uint8_t shift) {
  uint32_t largest = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t magnitude = (uint32_t)train_magnitude(gradient[i]);
    if (magnitude > largest) largest = magnitude;
    if (weight) {
      const int16_t moved = (int16_t)(weight[i] - train_pseudo(gradient[i], shift));
      weight[i] = train_signed(moved, train_magnitude(moved));
    }
  }
  return largest;
}

//@ train_weight_update
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

//@ train_bias_update
// The step of a bias, by the sum of its channel's errors.

static uint32_t train_bias_pass(int32_t pixels, int32_t channels, const int8_t *error, int8_t *bias,
                                uint8_t shift) {
  uint32_t largest = 0;
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int32_t i = 0; i < pixels; ++i) sum += error[i * channels + c];
    const uint32_t found = train_move(&sum, 1, bias ? bias + c : NULL, shift);
    if (found > largest) largest = found;
  }
  return largest;
}

// Of the errors of `pixels` pixels of all images.
static void train_bias_step(int32_t pixels, int32_t channels, const int8_t *error, int8_t *bias,
                            int8_t mu) {
  const int8_t shift = train_step_shift(train_bias_pass(pixels, channels, error, NULL, 0), mu);
  if (shift >= 0) train_bias_pass(pixels, channels, error, bias, (uint8_t)shift);
}
