// SPDX-License-Identifier: Apache-2.0
//@ train_order
// The order of the examples in an epoch, as the trainer has it.

static uint16_t train_below(uint64_t seed, uint32_t epoch, uint16_t last) {
  const uint32_t range = (uint32_t)last + 1;
  const uint32_t least = 0 - range - train_divide(0 - range, range) * range;
  uint64_t element = last;
  uint64_t product;
  do {
    product = (uint64_t)train_draw(seed, UINT32_C(0xDA7A0001), epoch, element) * range;
    element += (uint64_t)1 << 32;
  } while ((uint32_t)product < least);
  return (uint16_t)(product >> 32);
}

static void train_make_order(uint64_t seed, uint32_t epoch, uint16_t count, uint16_t *order) {
  for (uint16_t i = 0; i < count; ++i) order[i] = i;
  for (uint16_t i = count; i-- > 1;) {
    const uint16_t j = train_below(seed, epoch, i);
    const uint16_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

//@ train_dropout
// dropout: one mask of features for all images; what stays counts 2^k times, by its exponent.

static void train_drop(int32_t images, int32_t features, uint8_t k, uint64_t seed, uint32_t node,
                       uint32_t step, int8_t *data) {
  for (int32_t i = 0; i < features; ++i) {
    const uint32_t draw = train_draw(seed, UINT32_C(0x60000000) + node, step, (uint32_t)i);
    if (draw >> (32 - k) == 0) continue;
    for (int32_t n = 0; n < images; ++n) data[n * features + i] = 0;
  }
}
