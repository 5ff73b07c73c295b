// SPDX-License-Identifier: Apache-2.0
// The layers of ResNet-8. Parameters are random: they do not change what is computed, only the
// numbers.
#include "tests/emit/reference/reference.h"

#include "tests/emit/reference/kernels.h"
#include "tests/emit/reference/parameters.h"

static const range kRelu = {128, -128, -128, 127};
static const sum_scales kSum = {{128, 128, -128}, {1 << 30, 1 << 30, 1 << 30}, {0, 0, -19}, 20};

// The next parameters in line: a layer takes as many as it has.
typedef struct {
  const int8_t* weights;
  int32_t channels;
} position;

static int32_t conv(position* at, int32_t size, int32_t from, int32_t kernel, int32_t stride,
                    int32_t to, const int8_t* in, int8_t* out) {
  const int32_t out_size = size / stride;
  const int32_t pad = kernel == 1 || stride == 2 ? 0 : 1;  // 'same' at stride 2 pads behind alone
  const windows where = {stride, pad, pad};
  const scales by = {reference_multipliers + at->channels, reference_shifts + at->channels};
  reference_conv(&where, &kRelu, &by, (shape){1, size, size, from}, in,
                 (shape){to, kernel, kernel, from}, at->weights, reference_biases + at->channels,
                 (shape){1, out_size, out_size, to}, out);
  at->weights += to * kernel * kernel * from;
  at->channels += to;
  return out_size;
}

int reference_run(void* arena, const reference_input_t* input, reference_output_t* output) {
  int8_t *a = arena, *b = a + 16384, *c = b + 16384;
  position at = {reference_weights, 0};
  conv(&at, 32, 3, 3, 1, 16, input, a);
  conv(&at, 32, 16, 3, 1, 16, a, b);
  conv(&at, 32, 16, 3, 1, 16, b, c);
  reference_add(&kSum, 16384, a, c, a);
  for (int32_t size = 32, depth = 16; depth < 64; size /= 2, depth *= 2) {
    conv(&at, size, depth, 3, 2, 2 * depth, a, b);
    conv(&at, size / 2, 2 * depth, 3, 1, 2 * depth, b, c);
    conv(&at, size, depth, 1, 2, 2 * depth, a, b);
    reference_add(&kSum, size / 2 * (size / 2) * 2 * depth, b, c, a);
  }
  reference_average_pool((shape){1, 8, 8, 64}, a, b);
  reference_fully_connected(&kRelu, reference_multipliers[0], reference_shifts[0], 64, b, 10,
                            at.weights, reference_biases, output);
  return 0;
}
