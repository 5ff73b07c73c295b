// SPDX-License-Identifier: Apache-2.0
// The 64-bit division of ARM's run-time interface, which libgcc has in little-endian form only.
#include <stdint.h>

uint64_t arm_quotient(uint64_t dividend, uint64_t divisor, uint64_t* remainder);
void __aeabi_uldivmod(void);

uint64_t arm_quotient(uint64_t dividend, uint64_t divisor, uint64_t* remainder) {
  uint64_t quotient = 0;
  uint64_t rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (dividend >> bit & 1);
    quotient <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      quotient |= 1;
    }
  }
  *remainder = rest;
  return quotient;
}

// Quotient in r0 and r1, remainder in r2 and r3. Divisors are below 2^63, so that `rest` has room.
__attribute__((naked)) void __aeabi_uldivmod(void) {
  __asm__(
      "push {r6, lr}\n\t"
      "sub sp, sp, #16\n\t"
      "add r6, sp, #8\n\t"
      "str r6, [sp]\n\t"
      "bl arm_quotient\n\t"
      "ldrd r2, r3, [sp, #8]\n\t"
      "add sp, sp, #16\n\t"
      "pop {r6, pc}");
}
