// SPDX-License-Identifier: Apache-2.0
// Marks, read.

static uint8_t train_mark(const uint8_t *marks, uint8_t log, int32_t index) {
  const uint8_t place = (uint8_t)((index & ((8 >> log) - 1)) << log);
  const uint8_t mask = (uint8_t)((1u << (1 << log)) - 1);
  return (uint8_t)((marks[index >> (3 - log)] >> place) & mask);
}
