// SPDX-License-Identifier: Apache-2.0
// A Cortex-M: the vector table's first two words, and semihosting. The emulator loads data, and
// memory begins as zeros.
#include "tests/emit/board/board.h"

extern uint32_t board_stack_end[];
void board_reset(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t* stack_end;
  void (*reset)(void);
} vectors = {board_stack_end, board_reset};

static uint32_t semihosting(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_put(char character) {
  semihosting(0x03, &character);
}

void board_exit(int status) {
  const uint32_t reason_and_status[2] = {0x20026, (uint32_t)status};
  semihosting(0x20, reason_and_status);
}

void board_reset(void) {
#ifdef __ARM_FP  // vector registers are off until a program asks for them
  *(volatile uint32_t*)0xe000ed88 |= UINT32_C(0xf) << 20;
  __asm__ volatile("dsb\n isb");
#endif
  board_exit(main());
}
