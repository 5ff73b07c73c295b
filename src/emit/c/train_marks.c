// SPDX-License-Identifier: Apache-2.0
// Small numbers that the way back needs, of 1, 2, 4 or 8 bits, 2^log of them, side by side in
// bytes.

static void train_set_mark(uint8_t *marks, uint8_t log, int32_t index, uint8_t mark) {
  const uint8_t place = (uint8_t)((index & ((8 >> log) - 1)) << log);
  const uint8_t mask = (uint8_t)(((1u << (1 << log)) - 1) << place);
  uint8_t *const byte = marks + (index >> (3 - log));
  *byte = (uint8_t)((*byte & ~mask) | (mark << place));
}
