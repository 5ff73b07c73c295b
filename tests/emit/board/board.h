// SPDX-License-Identifier: Apache-2.0
// What a program needs of a board: a place to write characters to, and a way to end.
#ifndef NIBBLE_TESTS_EMIT_BOARD_H
#define NIBBLE_TESTS_EMIT_BOARD_H
#include <stdint.h>

int main(void);

void board_put(char character);
void board_exit(int status);

// "name number\n"
static inline void board_report(const char* name, uint32_t number) {
  char digits[10];
  uint8_t count = 0;
  do {
    digits[count++] = (char)('0' + (int)(number % 10));
    number /= 10;
  } while (number > 0);
  while (*name != '\0') board_put(*name++);
  board_put(' ');
  while (count > 0) board_put(digits[--count]);
  board_put('\n');
}

#endif
