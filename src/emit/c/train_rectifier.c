// SPDX-License-Identifier: Apache-2.0
//@ train_marks
// Small numbers that the way back needs, of 1, 2, 4 or 8 bits, 2^log of them, side by side in
// bytes.

static void train_set_mark(uint8_t *marks, uint8_t log, int32_t index, uint8_t mark) {
  const uint8_t place = (uint8_t)((index & ((8 >> log) - 1)) << log);
  const uint8_t mask = (uint8_t)(((1u << (1 << log)) - 1) << place);
  uint8_t *const byte = marks + (index >> (3 - log));
  *byte = (uint8_t)((*byte & ~mask) | (mark << place));
}

//@ train_marks_back
// Marks, read.

static uint8_t train_mark(const uint8_t *marks, uint8_t log, int32_t index) {
  const uint8_t place = (uint8_t)((index & ((8 >> log) - 1)) << log);
  const uint8_t mask = (uint8_t)((1u << (1 << log)) - 1);
  return (uint8_t)((marks[index >> (3 - log)] >> place) & mask);
}

//@ train_rectifier
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

//@ train_rectifier_back
// Errors pass a relu or relu6 where its value says so.

static void train_rectify_back(int32_t count, const int8_t *output, uint8_t has_cut,
                               int16_t exponent, const uint8_t *marks, int8_t *error) {
  const int16_t cut = train_cut(has_cut, exponent);
  for (int32_t i = 0; i < count; ++i) {
    if (marks ? !train_mark(marks, 0, i) : output[i] <= 0 || output[i] >= cut) error[i] = 0;
  }
}
