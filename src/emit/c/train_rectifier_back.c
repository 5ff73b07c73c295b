// SPDX-License-Identifier: Apache-2.0
// Errors pass a relu or relu6 where its value says so.

static void train_rectify_back(int32_t count, const int8_t *output, uint8_t has_cut,
                               int16_t exponent, const uint8_t *marks, int8_t *error) {
  const int16_t cut = train_cut(has_cut, exponent);
  for (int32_t i = 0; i < count; ++i) {
    if (marks ? !train_mark(marks, 0, i) : output[i] <= 0 || output[i] >= cut) error[i] = 0;
  }
}
