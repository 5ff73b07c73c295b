// SPDX-License-Identifier: Apache-2.0
// The error of squared errors: answers less their targets, 1 at the label and 0 elsewhere.

enum { TRAIN_TARGET_EXPONENT = -16 };

static int16_t train_loss_error(int32_t images, int32_t classes, const int8_t *answers,
                                int16_t exponent, const net_train_label_t *labels, uint64_t seed,
                                uint32_t step, int8_t *error) {
  const int16_t held = (int16_t)(exponent < -40 ? -40 : exponent > 24 ? 24 : exponent);
  const int16_t common = held < TRAIN_TARGET_EXPONENT ? held : TRAIN_TARGET_EXPONENT;
  uint64_t largest = 0;
  uint8_t shift = 0;
  (void)seed;
  (void)step;
  for (uint8_t pass = 0; pass < 2; ++pass) {
    for (int32_t n = 0; n < images; ++n) {
      for (int32_t c = 0; c < classes; ++c) {
        const int32_t index = n * classes + c;
        int64_t sum = answers[index] * ((int64_t)1 << (held - common));
        if (c == labels[n]) sum -= (int64_t)1 << -common;
        if (pass == 1) {
          error[index] = train_nearest(sum, shift);
        } else if (train_magnitude(sum) > largest) {
          largest = train_magnitude(sum);
        }
      }
    }
    shift = train_shift_for(largest);
  }
  return (int16_t)(common + shift);
}
