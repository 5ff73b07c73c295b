// SPDX-License-Identifier: Apache-2.0
// The error that a layer with weights sends to its input, by the weights as they are.

// Into sums: the errors of `count` neighbouring channels, from `first` of the group on, of one
// input pixel.
static void train_error_sums(const train_product *p, const int8_t *weight, const int8_t *error,
                             int32_t y, int32_t x, int32_t group, int32_t first, int32_t count,
                             int32_t *sums) {
  const int32_t filter_size = p->kernel_y * p->kernel_x * p->depth;
  const int32_t out = group * p->outs;
  for (int32_t i = 0; i < count; ++i) sums[i] = 0;
  for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
    const int32_t oy =
        train_window_of(y + p->padding_y - ky * p->dilation_y, p->stride_y, p->out_height);
    if (oy < 0) continue;
    for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
      const int32_t ox =
          train_window_of(x + p->padding_x - kx * p->dilation_x, p->stride_x, p->out_width);
      if (ox < 0) continue;
      const int8_t *const e = error + (oy * p->out_width + ox) * p->out_channels + out;
      const int8_t *w = weight + out * filter_size + (ky * p->kernel_x + kx) * p->depth + first;
      for (int32_t o = 0; o < p->outs; ++o, w += filter_size) {
        if (e[o] != 0) train_add_scaled(sums, e[o], w, count);
      }
    }
  }
}

static uint64_t train_product_errors(const train_product *p, const int8_t *weight, int32_t images,
                                     const int8_t *error, uint8_t shift, int8_t *input_error) {
  uint64_t largest = 0;
  int32_t sums[TRAIN_TILE];
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t y = 0; y < p->in_height; ++y) {
      for (int32_t x = 0; x < p->in_width; ++x) {
        for (int32_t group = 0; group < p->groups; ++group) {
          for (int32_t first = 0; first < p->depth; first += TRAIN_TILE) {
            const int32_t count = train_smaller(TRAIN_TILE, p->depth - first);
            train_error_sums(p, weight, error, y, x, group, first, count, sums);
            for (int32_t i = 0; i < count; ++i) {
              if (train_magnitude(sums[i]) > largest) largest = train_magnitude(sums[i]);
              *input_error++ = train_nearest(sums[i], shift);
            }
          }
        }
      }
    }
    error += p->out_height * p->out_width * p->out_channels;
  }
  return largest;
}

// The exponent of the error.
static int16_t train_product_back(const train_product *p, const int8_t *weights, int32_t images,
                                  const int8_t *error, int16_t exponent, uint8_t *shift,
                                  int8_t *input_error) {
  uint8_t used;
  do {
    used = *shift;
    *shift = train_shift_for(
        train_product_errors(p, weights + p->weight, images, error, used, input_error));
  } while (*shift != used);
  return (int16_t)(exponent + p->weight_exponent + used);
}
