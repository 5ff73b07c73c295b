// SPDX-License-Identifier: Apache-2.0
// The error of a sum, once more for a further operand.

static void train_copy(int32_t count, const int8_t *from, int8_t *to) {
  for (int32_t i = 0; i < count; ++i) to[i] = from[i];
}
