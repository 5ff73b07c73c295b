// SPDX-License-Identifier: Apache-2.0
// Runs the self-tests of an emitted folder; their names, which begin with its prefix, are macros.
#include "tests/emit/board/board.h"

#ifdef CHECK
int32_t CHECK(void);
#endif
#ifdef TRAIN_CHECK
int32_t TRAIN_CHECK(void);
#endif

static int is_different(const char* name, int32_t differences) {
  board_report(name, (uint32_t)differences);
  return differences != 0;
}

int main(void) {
  int status = 0;
#ifdef CHECK
  status |= is_different("check", CHECK());
#endif
#ifdef TRAIN_CHECK
  status |= is_different("train_check", TRAIN_CHECK());
#endif
  board_exit(status);
  return 0;
}
