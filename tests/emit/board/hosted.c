// SPDX-License-Identifier: Apache-2.0
// A system with a C library.
#include "tests/emit/board/board.h"

#include <stdio.h>
#include <stdlib.h>

void board_put(char character) {
  putchar(character);
}

void board_exit(int status) {
  exit(status);
}
