/* SPDX-License-Identifier: Apache-2.0 */
/* The block of docs/engine.md that runs on a GPU from C. */
#include "nibble.h"

int answer_in_c(const void* loaded, void* answers) {
#include <engine_1.c>
  const int failed = nibble_run(engine, pictures, 256, answers);
  nibble_free(engine);
  return failed;
}
