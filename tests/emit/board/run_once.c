// SPDX-License-Identifier: Apache-2.0
// One run of a network on a random input, for an instruction counter outside of the program.
#include HEADER

static uint64_t arena[(ARENA_BYTES + 7) / 8];
static INPUT_TYPE input[INPUT_ELEMENTS];
static OUTPUT_TYPE output[OUTPUT_ELEMENTS];

int main(void) {
  uint32_t random = 1;
  for (uint32_t i = 0; i < INPUT_ELEMENTS; ++i) {
    random = random * UINT32_C(1664525) + UINT32_C(1013904223);
    input[i] = (INPUT_TYPE)(random >> 24);
  }
  return RUN(arena, input, output);
}
