// SPDX-License-Identifier: Apache-2.0
// Errors go to the inputs that won their windows.

// The errors of the windows that input (y, x, c) of image n won.
static int32_t train_won(const train_pool *p, const int8_t *error, const uint8_t *marks, int32_t n,
                         int32_t y, int32_t x, int32_t c) {
  int32_t sum = 0;
  for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
    const int32_t oy = train_window_of(y + p->padding_y - ky, p->stride_y, p->out_height);
    if (oy < 0) continue;
    for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
      const int32_t ox = train_window_of(x + p->padding_x - kx, p->stride_x, p->out_width);
      if (ox < 0) continue;
      const int32_t index = ((n * p->out_height + oy) * p->out_width + ox) * p->channels + c;
      if (train_mark(marks, p->mark_log, index) == ky * p->kernel_x + kx) sum += error[index];
    }
  }
  return sum;
}

// Rounds where windows overlap; the exponent.
static int16_t train_max_pool_back(const train_pool *p, int32_t images, const int8_t *error,
                                   int16_t exponent, const uint8_t *marks, uint8_t *shift,
                                   int8_t *input_error) {
  uint8_t used;
  do {
    uint64_t largest = 0;
    int8_t *to = input_error;
    used = *shift;
    for (int32_t n = 0; n < images; ++n) {
      for (int32_t y = 0; y < p->in_height; ++y) {
        for (int32_t x = 0; x < p->in_width; ++x) {
          for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum = train_won(p, error, marks, n, y, x, c);
            if (train_magnitude(sum) > largest) largest = train_magnitude(sum);
            *to++ = train_nearest(sum, used);
          }
        }
      }
    }
    *shift = train_shift_for(largest);
  } while (*shift != used);
  return (int16_t)(exponent + used);
}
