// SPDX-License-Identifier: Apache-2.0
// What gradients do to weights.

// x / 2^shift, where what is cut decides for itself whether the result goes up.
static int8_t train_pseudo(int32_t x, uint8_t shift) {
  const uint64_t magnitude = train_magnitude(x);
  const uint8_t half = shift / 2;
  const uint64_t cut = magnitude & (((uint64_t)1 << shift) - 1);
  const uint64_t upper = cut >> half;
  const uint64_t lower = (cut & (((uint64_t)1 << half) - 1)) << shift % 2;
  return train_signed(x, (magnitude >> shift) + (upper > lower ? 1 : 0));
}

// The shift that leaves mu bits of the largest gradient; -1: it moves nothing.
static int8_t train_step_shift(uint32_t largest, int8_t mu) {
  const uint8_t bits = train_bits(largest);
  if (bits == 0) return -1;
  return (int8_t)(bits > mu ? bits - mu : 0);
}

// Looks at gradients of neighbouring weights, or moves the weights by them where there are weights.
static uint32_t train_move(const int32_t *gradient, int32_t count, int8_t *weight, uint8_t shift) {
  uint32_t largest = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t magnitude = (uint32_t)train_magnitude(gradient[i]);
    if (magnitude > largest) largest = magnitude;
    if (weight) {
      const int16_t moved = (int16_t)(weight[i] - train_pseudo(gradient[i], shift));
      weight[i] = train_signed(moved, train_magnitude(moved));
    }
  }
  return largest;
}
