// SPDX-License-Identifier: Apache-2.0
// From a sum to what is stored: clamp(R((sum * factor + bias[c] + addend) * m[c], s), low, high).
typedef struct {
  const void *bias;  // one a channel, or none
  const int32_t *multipliers;
  net_term addend;
  int32_t factor;
  int32_t low;
  int32_t high;
  uint8_t multiplier_step;  // 1: one a channel; 0: one for all
  uint8_t shift;
} net_finish;
