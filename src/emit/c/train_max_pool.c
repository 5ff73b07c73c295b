// SPDX-License-Identifier: Apache-2.0
//@ train_max_pool
// Max pools: a mark says which tap of the window passed, of equal ones the first.

typedef struct {
  int32_t in_height, in_width, out_height, out_width, channels;
  int32_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x;
  uint8_t mark_log;
} train_pool;

static void train_max_pool(const train_pool *p, int32_t images, const int8_t *input, int8_t *output,
                           uint8_t *marks) {
  int32_t index = 0;
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
      for (int32_t ox = 0; ox < p->out_width; ++ox) {
        for (int32_t c = 0; c < p->channels; ++c) {
          int16_t best = -128;
          uint8_t mark = 0;
          for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
            const int32_t y = oy * p->stride_y - p->padding_y + ky;
            if (y < 0 || y >= p->in_height) continue;
            for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
              const int32_t x = ox * p->stride_x - p->padding_x + kx;
              if (x < 0 || x >= p->in_width) continue;
              const int8_t value = input[(y * p->in_width + x) * p->channels + c];
              if (value <= best) continue;
              best = value;
              mark = (uint8_t)(ky * p->kernel_x + kx);
            }
          }
          output[index] = (int8_t)best;
          if (marks) train_set_mark(marks, p->mark_log, index, mark);
          ++index;
        }
      }
    }
    input += p->in_height * p->in_width * p->channels;
  }
}

//@ train_max_pool_back
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
