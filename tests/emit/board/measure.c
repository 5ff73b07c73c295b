// SPDX-License-Identifier: Apache-2.0
// One run of a network on an mps2 board of qemu -icount shift=0: how many instructions, how deep
// the stack. An instruction is then 1 ns, a tick of the board's 25 MHz timer 40 instructions.
#include "tests/emit/board/board.h"
#include HEADER

enum { kTicks = 40, kMargin = 4 };
#define PAINT UINT32_C(0xa5a5a5a5)
#define TIMER ((volatile uint32_t*)0x40000000)  // control, value, reload

extern uint32_t board_stack[];
extern uint32_t board_stack_end[];

static uint64_t arena[(ARENA_BYTES + 7) / 8];
static INPUT_TYPE input[INPUT_ELEMENTS];
static OUTPUT_TYPE output[OUTPUT_ELEMENTS];

static void __attribute__((noinline)) paint(void) {
  volatile uint32_t* here = (volatile uint32_t*)__builtin_frame_address(0) - kMargin;
  while (here > board_stack) *--here = PAINT;
}

static uint32_t depth_below(const uint32_t* stack_pointer) {
  const volatile uint32_t* lowest = board_stack;
  while (lowest < stack_pointer && *lowest == PAINT) ++lowest;
  return (uint32_t)(stack_pointer - lowest) * 4;
}

static uint32_t __attribute__((noinline))
ticks_of_a_run(int* status, const uint32_t** stack_pointer) {
  __asm__ volatile("mov %0, sp" : "=r"(*stack_pointer));
  const uint32_t begin = TIMER[1];
  *status = RUN(arena, input, output);
  return begin - TIMER[1];
}

int main(void) {
  const uint32_t* stack_pointer;
  int status = 0;
  uint32_t random = 1;
  for (uint32_t i = 0; i < INPUT_ELEMENTS; ++i) {
    random = random * UINT32_C(1664525) + UINT32_C(1013904223);
    input[i] = (INPUT_TYPE)(random >> 24);
  }
  TIMER[2] = TIMER[1] = UINT32_MAX;
  TIMER[0] = 1;
  paint();
  const uint32_t ticks = ticks_of_a_run(&status, &stack_pointer);
  board_report("stack", depth_below(stack_pointer));
  board_report("kilo_instructions", ticks / (1000 / kTicks));
  board_report("instructions_rest", ticks % (1000 / kTicks) * kTicks);
  board_report("status", (uint32_t)status);
  board_exit(status);
  return 0;
}
