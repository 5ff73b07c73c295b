/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions as C code calls them. Answers NULL, or what was not as it should be. */
#include <stdio.h>
#include <string.h>

#include "nibble.h"

const char* check_c_api(const char* path, const char* missing);

#define NIBBLE_CHECK(condition) \
  if (!(condition)) return #condition

/* What `done` was told: nibble_free waits for all of them. */
struct told {
  int calls;
  int is_error;
};
static void keep(void* context, const char* error) {
  struct told* told = context;
  ++told->calls;
  told->is_error = error != NULL;
}

/* input (4) of int8; output: class of the largest */
const char* check_c_api(const char* path, const char* missing) {
  const signed char examples[3][4] = {{1, 5, 5, -3}, {-1, -2, -3, -4}, {0, 0, 0, 9}};
  unsigned char answers[3] = {99, 99, 99};
  NIBBLE_CHECK(strlen(nibble_version()) >= 5);

  nibble_engine* engine = nibble_load(path, 2, 1);
  NIBBLE_CHECK(engine != NULL);
  NIBBLE_CHECK(strcmp(nibble_name(engine), "made") == 0);
  const nibble_value* in = nibble_input(engine);
  NIBBLE_CHECK(strcmp(in->name, "input") == 0 && in->type == NIBBLE_INT8);
  NIBBLE_CHECK(in->rank == 1 && in->shape[0] == 4 && in->elements == 4 && in->bytes == 4);
  NIBBLE_CHECK(in->low == -128 && in->high == 127);
  const nibble_value* out = nibble_output(engine);
  NIBBLE_CHECK(out->rank == 1 && out->shape[0] == 1 && out->type == NIBBLE_INT8);
  NIBBLE_CHECK(out->low == 0 && out->high == 3 && out->bytes == 1);
  NIBBLE_CHECK(nibble_arena_bytes(engine) > 0);
  NIBBLE_CHECK(nibble_run(engine, examples, 3, answers) == 0);
  NIBBLE_CHECK(answers[0] == 1 && answers[1] == 0 && answers[2] == 3);

  NIBBLE_CHECK(nibble_run(engine, examples, 0, answers) != 0);
  NIBBLE_CHECK(strstr(nibble_last_error(), "[engine] batch: got 0") != NULL);
  NIBBLE_CHECK(nibble_run(engine, examples, INT64_MAX, answers) != 0);
  NIBBLE_CHECK(nibble_run(engine, NULL, 1, answers) != 0);
  NIBBLE_CHECK(strstr(nibble_last_error(), "input: got a null pointer") != NULL);
  NIBBLE_CHECK(nibble_run(engine, examples, 1, NULL) != 0);
  NIBBLE_CHECK(nibble_run(NULL, examples, 1, answers) != 0);
  NIBBLE_CHECK(nibble_run(engine, examples, 1, answers) == 0); /* still good */

  struct told told[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  unsigned char later[4][3] = {{99, 99, 99}, {99, 99, 99}, {99, 99, 99}, {99, 99, 99}};
  int i;
  for (i = 0; i < 4; ++i)
    NIBBLE_CHECK(nibble_submit(engine, examples, 3, later[i], keep, &told[i]) == 0);
  NIBBLE_CHECK(nibble_submit(engine, examples, 0, answers, keep, &told[0]) != 0);
  NIBBLE_CHECK(nibble_submit(engine, examples, 1, answers, NULL, &told[0]) != 0);
  NIBBLE_CHECK(strstr(nibble_last_error(), "done: got a null pointer") != NULL);
  nibble_free(engine);
  for (i = 0; i < 4; ++i) {
    NIBBLE_CHECK(told[i].calls == 1 && !told[i].is_error);
    NIBBLE_CHECK(later[i][0] == 1 && later[i][1] == 0 && later[i][2] == 3);
  }

  NIBBLE_CHECK(nibble_load(missing, 1, 0) == NULL);
  NIBBLE_CHECK(strstr(nibble_last_error(), missing) != NULL);
  NIBBLE_CHECK(nibble_load(NULL, 1, 0) == NULL);
  NIBBLE_CHECK(nibble_load(path, 0, 0) == NULL);
  NIBBLE_CHECK(strstr(nibble_last_error(), "max_batch") != NULL);
  NIBBLE_CHECK(nibble_load(path, 1, -1) == NULL);
  nibble_free(NULL);
  NIBBLE_CHECK(nibble_name(NULL) == NULL && nibble_input(NULL) == NULL);
  NIBBLE_CHECK(nibble_output(NULL) == NULL && nibble_weight_bytes(NULL) == 0);
  return NULL;
}
