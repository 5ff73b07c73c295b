// SPDX-License-Identifier: Apache-2.0
// relu and relu6; errors pass where 0 < value < cut. Marks are null where the output is kept.

// 6 in units of 2^exponent; 128 where nothing is cut.
static int16_t train_cut(uint8_t has_cut, int16_t exponent) {
  if (!has_cut || exponent < -4) return 128;
  return (int16_t)(exponent <= 0 ? 6 << -exponent : 6 >> (exponent < 3 ? exponent : 3));
}

static void train_rectify(int32_t count, const int8_t *input, uint8_t has_cut, int16_t exponent,
                          int8_t *output, uint8_t *marks) {
  const int16_t cut = train_cut(has_cut, exponent);
  for (int32_t i = 0; i < count; ++i) {
    const int8_t x = input[i];
    if (marks) train_set_mark(marks, 0, i, x > 0 && x < cut);
    output[i] = (int8_t)(x < 0 ? 0 : x > cut ? cut : x);
  }
}
