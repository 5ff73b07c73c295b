// SPDX-License-Identifier: Apache-2.0
// dropout: one mask of features for all images; what stays counts 2^k times, by its exponent.

static void train_drop(int32_t images, int32_t features, uint8_t k, uint64_t seed, uint32_t node,
                       uint32_t step, int8_t *data) {
  for (int32_t i = 0; i < features; ++i) {
    const uint32_t draw = train_draw(seed, UINT32_C(0x60000000) + node, step, (uint32_t)i);
    if (draw >> (32 - k) == 0) continue;
    for (int32_t n = 0; n < images; ++n) data[n * features + i] = 0;
  }
}
