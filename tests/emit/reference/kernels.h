// SPDX-License-Identifier: Apache-2.0
// The arithmetic of TFLite-Micro's int8 reference kernels, written as plainly: every element is
// found from its four indices, the zero point of the input is added in the innermost loop, and a
// product is rescaled by a saturating rounding doubling high multiplication and a rounding division
// by a power of two.
#ifndef REFERENCE_KERNELS_H
#define REFERENCE_KERNELS_H
#include <stdint.h>

typedef struct {
  int32_t batches, height, width, depth;
} shape;

typedef struct {
  int32_t input_offset, output_offset, lowest, highest;
} range;

typedef struct {
  const int32_t* multipliers;  // one a channel
  const int32_t* shifts;       // to the left where positive
} scales;

typedef struct {
  int32_t stride, pad_top, pad_left;
} windows;

typedef struct {
  int32_t offset[3];  // of the first operand, the second, the result
  int32_t multiplier[3];
  int32_t shift[3];
  int32_t left_shift;
} sum_scales;

int32_t multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift);

void reference_conv(const windows* at, const range* bounds, const scales* by, shape in_shape,
                    const int8_t* in, shape filter_shape, const int8_t* filter, const int32_t* bias,
                    shape out_shape, int8_t* out);
void reference_add(const sum_scales* by, int32_t count, const int8_t* first, const int8_t* second,
                   int8_t* out);
void reference_average_pool(shape in_shape, const int8_t* in, int8_t* out);
void reference_fully_connected(const range* bounds, int32_t multiplier, int32_t shift,
                               int32_t depth, const int8_t* in, int32_t features,
                               const int8_t* filter, const int32_t* bias, int8_t* out);

#endif
