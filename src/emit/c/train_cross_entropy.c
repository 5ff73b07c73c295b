// SPDX-License-Identifier: Apache-2.0
// The error of cross-entropy: 128 (softmax - one-hot), rounded by chance to int8 with exponent -7.

enum { TRAIN_LOSS_EXPONENT = -7, TRAIN_OCTAVES = 10 };

// v log2(e) 2^exponent in units of 2^-15, toward zero.
static int64_t train_octaves(int8_t v, int16_t exponent) {
  uint64_t magnitude = train_magnitude(v * (int64_t)47274);
  magnitude = exponent >= 0 ? magnitude << exponent : magnitude >> -exponent;
  return v < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

// In proportion to e^(v 2^exponent), by its series where that is small; `floor` is the place, in
// octaves, from which on down there is nothing.
static uint64_t train_share(int8_t v, int16_t exponent, int64_t floor) {
  if (exponent <= TRAIN_LOSS_EXPONENT) {
    return (uint64_t)(((int64_t)1 << (1 - 2 * exponent)) + v * ((int64_t)1 << (1 - exponent)) +
                      (int64_t)v * v);
  }
  const int64_t above = train_octaves(v, exponent) - floor;
  const uint32_t place = above > 0 ? (uint32_t)above : 0;
  const uint32_t fraction = train_powers[(place & 32767) >> 7];
  return ((fraction << (place >> 15)) >> 5) - 1024;
}

// share / sum in units of 2^-11, rounded down; share <= sum < 2^63.
static int32_t train_probability(uint64_t share, uint64_t sum) {
  int32_t quotient = 0;
  for (uint8_t bit = 0; bit < 12; ++bit) {
    const uint8_t fits = share >= sum;
    if (fits) share -= sum;
    share <<= 1;
    quotient = quotient * 2 + fits;
  }
  return quotient;
}

// Of one image; `element` is where its first answer stands in the batch.
static void train_image_error(const int8_t *answers, int32_t classes, int16_t exponent,
                              int32_t label, uint64_t seed, uint32_t step, uint32_t element,
                              int8_t *error) {
  const int16_t held = (int16_t)(exponent < -24 ? -24 : exponent > 16 ? 16 : exponent);
  int64_t floor = 0;
  uint64_t sum = 0;
  int32_t total = 0;
  for (int32_t c = 0; c < classes; ++c) {
    const int64_t place = train_octaves(answers[c], held) - ((int64_t)TRAIN_OCTAVES << 15);
    if (c == 0 || place > floor) floor = place;
  }
  for (int32_t c = 0; c < classes; ++c) sum += train_share(answers[c], held, floor);
  for (int32_t c = 0; c < classes; ++c)
    total += train_probability(train_share(answers[c], held, floor), sum);
  for (int32_t c = 0; c < classes; ++c) {
    int32_t difference = train_probability(train_share(answers[c], held, floor), sum);
    if (c == label) difference -= total;
    const uint64_t magnitude = train_magnitude(difference);
    const uint32_t draw = train_draw(seed, UINT32_C(0x80000000), step, element + (uint32_t)c) >> 28;
    error[c] = train_signed(difference, (magnitude >> 4) + ((magnitude & 15) > draw ? 1 : 0));
  }
}

// Of all answers; its exponent.
static int16_t train_loss_error(int32_t images, int32_t classes, const int8_t *answers,
                                int16_t exponent, const net_train_label_t *labels, uint64_t seed,
                                uint32_t step, int8_t *error) {
  for (int32_t n = 0; n < images; ++n) {
    const int32_t first = n * classes;
    train_image_error(answers + first, classes, exponent, labels[n], seed, step, (uint32_t)first,
                      error + first);
  }
  return TRAIN_LOSS_EXPONENT;
}
