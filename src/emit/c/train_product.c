// SPDX-License-Identifier: Apache-2.0
//@ train_window
// The way from an input back to the windows that it is in.

// The one of `windows` windows that begins at `place`; -1: none does.
static int32_t train_window_of(int32_t place, int32_t stride, int32_t windows) {
  int32_t window = stride == 1 ? place : 0;
  if (place < 0) return -1;
  while (window * stride < place) ++window;
  return window * stride == place && window < windows ? window : -1;
}

//@ train_product
// Layers with weights: conv2d, and linear as a conv2d of one pixel. Sums are made again instead of
// kept: values and errors are rounded with the last batch's shift while the largest sum is found,
// and once more where this batch wants another.

// Filters are [out][kernel_y][kernel_x][depth]; a group has depth inputs and outs outputs. Of
// row_taps taps side by side the weights and the inputs lie one after the other: kernel_x without
// dilation and groups, else 1.
typedef struct {
  int32_t in_height, in_width, in_channels;
  int32_t out_height, out_width, out_channels;
  int32_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  int32_t groups, depth, outs, row_taps;
  int32_t weight, bias;  // where they begin in the state's weights; no bias: -1
  int16_t weight_exponent, bias_exponent;
} train_product;

enum { TRAIN_TILE = 64, TRAIN_REACH = VALUE_BIAS_REACH };

static int32_t train_dot(const int8_t *a, const int8_t *b, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

static void train_add_scaled(int32_t *sums, int8_t factor, const int8_t *from, int32_t count) {
  for (int32_t i = 0; i < count; ++i) sums[i] += factor * from[i];
}

static int32_t train_smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static int32_t train_larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

// Into sums: `count` neighbouring outputs, from `first` on, of one window and one group, whose
// channels the image begins with; taps that lie outside of the picture do not exist.
static void train_value_sums(const train_product *p, const int8_t *image, const int8_t *weight,
                             int32_t oy, int32_t ox, int32_t first, int32_t count, int32_t *sums) {
  const int32_t filter_size = p->kernel_y * p->kernel_x * p->depth;
  for (int32_t o = 0; o < count; ++o) sums[o] = 0;
  for (int32_t ky = 0; ky < p->kernel_y; ++ky) {
    const int32_t y = oy * p->stride_y - p->padding_y + ky * p->dilation_y;
    if (y < 0 || y >= p->in_height) continue;
    for (int32_t kx = 0; kx < p->kernel_x; kx += p->row_taps) {
      const int32_t x = ox * p->stride_x - p->padding_x + kx * p->dilation_x;
      const int32_t begin = train_larger(-x, 0);
      const int32_t end = train_smaller(p->row_taps, p->in_width - x);
      if (begin >= end) continue;
      const int8_t *w = weight + first * filter_size + (ky * p->kernel_x + kx + begin) * p->depth;
      for (int32_t o = 0; o < count; ++o, w += filter_size) {
        sums[o] += train_dot(image + (y * p->in_width + x + begin) * p->in_channels, w,
                             (end - begin) * p->depth);
      }
    }
  }
}

// Rounds all outputs by the shift; the largest magnitude of a sum.
static uint64_t train_product_values(const train_product *p, const int8_t *weights, uint8_t lift,
                                     uint8_t bias_lift, int32_t images, const int8_t *input,
                                     uint8_t shift, int8_t *output) {
  uint64_t largest = 0;
  int32_t sums[TRAIN_TILE];
  for (int32_t n = 0; n < images; ++n) {
    for (int32_t oy = 0; oy < p->out_height; ++oy) {
      for (int32_t ox = 0; ox < p->out_width; ++ox) {
        for (int32_t group = 0; group < p->groups; ++group) {
          const int32_t end = (group + 1) * p->outs;
          for (int32_t first = group * p->outs; first < end; first += TRAIN_TILE) {
            const int32_t count = train_smaller(TRAIN_TILE, end - first);
            train_value_sums(p, input + group * p->depth, weights + p->weight, oy, ox, first, count,
                             sums);
            for (int32_t o = 0; o < count; ++o) {
              int64_t sum = sums[o];
              if (p->bias >= 0) {
                sum = sum * ((int64_t)1 << lift) +
                      weights[p->bias + first + o] * ((int64_t)1 << bias_lift);
              }
              if (train_magnitude(sum) > largest) largest = train_magnitude(sum);
              *output++ = train_nearest(sum, shift);
            }
          }
        }
      }
    }
    input += p->in_height * p->in_width * p->in_channels;
  }
  return largest;
}

// The exponent of the output.
static int16_t train_product_forward(const train_product *p, const int8_t *weights, int32_t images,
                                     const int8_t *input, int16_t exponent, uint8_t *shift,
                                     int8_t *output) {
  const int32_t products = exponent + p->weight_exponent;
  int32_t sums = products;
  uint8_t bias_lift = 0;
  uint8_t used;
  if (p->bias >= 0) {
    sums = train_larger(train_smaller(products, p->bias_exponent), products - TRAIN_REACH);
    bias_lift = (uint8_t)train_smaller(train_larger(p->bias_exponent - sums, 0), TRAIN_REACH);
  }
  do {
    used = *shift;
    *shift = train_shift_for(train_product_values(p, weights, (uint8_t)(products - sums), bias_lift,
                                                  images, input, used, output));
  } while (*shift != used);
  return (int16_t)(sums + used);
}

//@ train_product_back
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
