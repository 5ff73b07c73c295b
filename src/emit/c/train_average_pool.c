// SPDX-License-Identifier: Apache-2.0
// Average pools: sums of windows times 2^15 / count to the nearest, in units 2^-15 of the input's.

enum { TRAIN_MEAN_BITS = VALUE_MEAN_BITS };

typedef struct {
  int32_t in_height, in_width, out_height, out_width, channels;
  int32_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x;
  uint8_t counts_padding;
} train_mean;

// Taps of a window along one axis that lie inside.
static int32_t train_inside(int32_t first, int32_t kernel, int32_t extent) {
  int32_t count = 0;
  for (int32_t k = 0; k < kernel; ++k) count += first + k >= 0 && first + k < extent;
  return count;
}

static int32_t train_mean_factor(const train_mean *p, int32_t oy, int32_t ox) {
  int32_t count = p->kernel_y * p->kernel_x;
  if (!p->counts_padding) {
    count = train_inside(oy * p->stride_y - p->padding_y, p->kernel_y, p->in_height) *
            train_inside(ox * p->stride_x - p->padding_x, p->kernel_x, p->in_width);
  }
  return (int32_t)train_divide((UINT32_C(1) << TRAIN_MEAN_BITS) + (uint32_t)count / 2,
                               (uint32_t)count);
}

static int32_t train_mean_value(const train_mean *p, const int8_t *image, int32_t oy, int32_t ox,
                                int32_t c) {
  int32_t sum = 0;
  for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
    const int32_t y = oy * p->stride_y - p->padding_y + ky;
    if (y < 0 || y >= p->in_height) continue;
    for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
      const int32_t x = ox * p->stride_x - p->padding_x + kx;
      if (x >= 0 && x < p->in_width) sum += image[(y * p->in_width + x) * p->channels + c];
    }
  }
  return sum * train_mean_factor(p, oy, ox);
}

static int32_t train_mean_error(const train_mean *p, const int8_t *error, int32_t y, int32_t x,
                                int32_t c) {
  int32_t sum = 0;
  for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
    const int32_t oy = train_window_of(y + p->padding_y - ky, p->stride_y, p->out_height);
    if (oy < 0) continue;
    for (int32_t kx = 0; kx < p->kernel_x; ++kx) {
      const int32_t ox = train_window_of(x + p->padding_x - kx, p->stride_x, p->out_width);
      if (ox < 0) continue;
      sum += error[(oy * p->out_width + ox) * p->channels + c] * train_mean_factor(p, oy, ox);
    }
  }
  return sum;
}

// Values of windows, or errors of inputs; `exponent` is that of what is averaged.
static int16_t train_average(const train_mean *p, int32_t images, uint8_t is_back,
                             const int8_t *from, int16_t exponent, uint8_t *shift, int8_t *result) {
  const int32_t height = is_back ? p->in_height : p->out_height;
  const int32_t width = is_back ? p->in_width : p->out_width;
  const int32_t from_size =
      (is_back ? p->out_height * p->out_width : p->in_height * p->in_width) * p->channels;
  uint8_t used;
  do {
    uint64_t largest = 0;
    int8_t *to = result;
    used = *shift;
    for (int32_t n = 0; n < images; ++n) {
      const int8_t *const image = from + n * from_size;
      for (int32_t y = 0; y < height; ++y) {
        for (int32_t x = 0; x < width; ++x) {
          for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum =
                is_back ? train_mean_error(p, image, y, x, c) : train_mean_value(p, image, y, x, c);
            if (train_magnitude(sum) > largest) largest = train_magnitude(sum);
            *to++ = train_nearest(sum, used);
          }
        }
      }
    }
    *shift = train_shift_for(largest);
  } while (*shift != used);
  return (int16_t)(exponent - TRAIN_MEAN_BITS + used);
}
