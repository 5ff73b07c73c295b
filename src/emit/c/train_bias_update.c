// SPDX-License-Identifier: Apache-2.0
// The step of a bias, by the sum of its channel's errors.

static uint32_t train_bias_pass(int32_t pixels, int32_t channels, const int8_t *error, int8_t *bias,
                                uint8_t shift) {
  uint32_t largest = 0;
  for (int32_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int32_t i = 0; i < pixels; ++i) sum += error[i * channels + c];
    const uint32_t found = train_move(&sum, 1, bias ? bias + c : NULL, shift);
    if (found > largest) largest = found;
  }
  return largest;
}

// Of the errors of `pixels` pixels of all images.
static void train_bias_step(int32_t pixels, int32_t channels, const int8_t *error, int8_t *bias,
                            int8_t mu) {
  const int8_t shift = train_step_shift(train_bias_pass(pixels, channels, error, NULL, 0), mu);
  if (shift >= 0) train_bias_pass(pixels, channels, error, bias, (uint8_t)shift);
}
