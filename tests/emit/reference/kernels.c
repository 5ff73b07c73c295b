// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels.h.
#include "tests/emit/reference/kernels.h"

static int32_t offset(const shape* of, int32_t batch, int32_t y, int32_t x, int32_t channel) {
  return ((batch * of->height + y) * of->width + x) * of->depth + channel;
}

static int32_t saturating_rounding_doubling_high_mul(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  const int64_t product = (int64_t)a * b;
  const int32_t nudge = product >= 0 ? (1 << 30) : (1 - (1 << 30));
  return (int32_t)((product + nudge) / (INT64_C(1) << 31));
}

static int32_t rounding_divide_by_power_of_two(int32_t x, int32_t exponent) {
  const int32_t mask = (int32_t)((INT64_C(1) << exponent) - 1);
  const int32_t remainder = x & mask;
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

int32_t multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift) {
  const int32_t left = shift > 0 ? shift : 0;
  const int32_t right = shift > 0 ? 0 : -shift;
  return rounding_divide_by_power_of_two(
      saturating_rounding_doubling_high_mul(x * (1 << left), multiplier), right);
}

static int8_t clamp(int32_t x, int32_t lowest, int32_t highest) {
  return (int8_t)(x < lowest ? lowest : x > highest ? highest : x);
}

void reference_conv(const windows* at, const range* bounds, const scales* by, shape in_shape,
                    const int8_t* in, shape filter_shape, const int8_t* filter, const int32_t* bias,
                    shape out_shape, int8_t* out) {
  for (int32_t batch = 0; batch < out_shape.batches; ++batch) {
    for (int32_t out_y = 0; out_y < out_shape.height; ++out_y) {
      for (int32_t out_x = 0; out_x < out_shape.width; ++out_x) {
        for (int32_t to = 0; to < out_shape.depth; ++to) {
          int32_t sum = 0;
          for (int32_t filter_y = 0; filter_y < filter_shape.height; ++filter_y) {
            const int32_t y = out_y * at->stride - at->pad_top + filter_y;
            for (int32_t filter_x = 0; filter_x < filter_shape.width; ++filter_x) {
              const int32_t x = out_x * at->stride - at->pad_left + filter_x;
              if (x < 0 || x >= in_shape.width || y < 0 || y >= in_shape.height) continue;
              for (int32_t from = 0; from < filter_shape.depth; ++from) {
                const int32_t value = in[offset(&in_shape, batch, y, x, from)];
                const int32_t weight = filter[offset(&filter_shape, to, filter_y, filter_x, from)];
                sum += weight * (value + bounds->input_offset);
              }
            }
          }
          sum += bias[to];
          sum = multiply_by_quantized_multiplier(sum, by->multipliers[to], by->shifts[to]) +
                bounds->output_offset;
          out[offset(&out_shape, batch, out_y, out_x, to)] =
              clamp(sum, bounds->lowest, bounds->highest);
        }
      }
    }
  }
}

void reference_add(const sum_scales* by, int32_t count, const int8_t* first, const int8_t* second,
                   int8_t* out) {
  for (int32_t i = 0; i < count; ++i) {
    const int32_t a = (by->offset[0] + first[i]) * (1 << by->left_shift);
    const int32_t b = (by->offset[1] + second[i]) * (1 << by->left_shift);
    const int32_t sum = multiply_by_quantized_multiplier(a, by->multiplier[0], by->shift[0]) +
                        multiply_by_quantized_multiplier(b, by->multiplier[1], by->shift[1]);
    out[i] = clamp(
        multiply_by_quantized_multiplier(sum, by->multiplier[2], by->shift[2]) + by->offset[2],
        -128, 127);
  }
}

void reference_average_pool(shape in_shape, const int8_t* in, int8_t* out) {
  const int32_t count = in_shape.height * in_shape.width;
  for (int32_t channel = 0; channel < in_shape.depth; ++channel) {
    int32_t sum = 0;
    for (int32_t y = 0; y < in_shape.height; ++y) {
      for (int32_t x = 0; x < in_shape.width; ++x) sum += in[offset(&in_shape, 0, y, x, channel)];
    }
    out[channel] =
        clamp(sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count, -128, 127);
  }
}

void reference_fully_connected(const range* bounds, int32_t multiplier, int32_t shift,
                               int32_t depth, const int8_t* in, int32_t features,
                               const int8_t* filter, const int32_t* bias, int8_t* out) {
  for (int32_t to = 0; to < features; ++to) {
    int32_t sum = 0;
    for (int32_t from = 0; from < depth; ++from) {
      sum += filter[to * depth + from] * (in[from] + bounds->input_offset);
    }
    sum =
        multiply_by_quantized_multiplier(sum + bias[to], multiplier, shift) + bounds->output_offset;
    out[to] = clamp(sum, bounds->lowest, bounds->highest);
  }
}
