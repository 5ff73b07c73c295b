// SPDX-License-Identifier: Apache-2.0
// Linux without a C library, for qemu's user mode: the two system calls are made by hand.
#include "tests/emit/board/board.h"

void _start(void);

static long call(long number, long first, long second, long third) {
#if defined(__arm__)
  register long r7 __asm__("r7") = number;
  register long r0 __asm__("r0") = first;
  register long r1 __asm__("r1") = second;
  register long r2 __asm__("r2") = third;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
  return r0;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = first;
  register long x1 __asm__("x1") = second;
  register long x2 __asm__("x2") = third;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = first;
  register long a1 __asm__("a1") = second;
  register long a2 __asm__("a2") = third;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
#endif
}

#if defined(__arm__)
enum { kExit = 1, kWrite = 4 };
#else
enum { kExit = 93, kWrite = 64 };
#endif

void board_put(char character) {
  call(kWrite, 1, (long)&character, 1);
}

void board_exit(int status) {
  call(kExit, status, 0, 0);
}

void _start(void) {
  board_exit(main());
}
