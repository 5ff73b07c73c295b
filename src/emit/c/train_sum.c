// SPDX-License-Identifier: Apache-2.0
// Sums of values or errors with exponents of their own: aligned exactly, rounded once.

// A bias is one pixel for all. The result may be an operand that is no bias.
typedef struct {
  const int8_t *data;
  uint8_t is_bias;
  int16_t exponent;
} train_operand;

enum { TRAIN_ALIGNMENT_REACH = 40 };

static int64_t train_aligned(const train_operand *operand, int32_t index, int16_t exponent,
                             int16_t top) {
  if (operand->exponent < top - TRAIN_ALIGNMENT_REACH) return 0;
  return operand->data[index] * ((int64_t)1 << (operand->exponent - exponent));
}

// The exponent of the result.
static int16_t train_sum(const train_operand *operands, uint8_t count, int32_t pixels,
                         int32_t channels, int8_t *result) {
  int16_t top = operands[0].exponent;
  int16_t common;
  uint64_t largest = 0;
  uint8_t shift = 0;
  for (uint8_t k = 1; k < count; ++k) {
    if (operands[k].exponent > top) top = operands[k].exponent;
  }
  common = top;
  for (uint8_t k = 0; k < count; ++k) {
    const int16_t exponent = operands[k].exponent;
    if (exponent >= top - TRAIN_ALIGNMENT_REACH && exponent < common) common = exponent;
  }
  for (uint8_t pass = 0; pass < 2; ++pass) {
    for (int32_t i = 0; i < pixels; ++i) {
      for (int32_t c = 0; c < channels; ++c) {
        const int32_t index = i * channels + c;
        int64_t sum = 0;
        for (uint8_t k = 0; k < count; ++k)
          sum += train_aligned(&operands[k], operands[k].is_bias ? c : index, common, top);
        if (pass == 1) {
          result[index] = train_nearest(sum, shift);
        } else if (train_magnitude(sum) > largest) {
          largest = train_magnitude(sum);
        }
      }
    }
    shift = train_shift_for(largest);
  }
  return (int16_t)(common + shift);
}
