/* SPDX-License-Identifier: Apache-2.0 */
/* Options and memory as C code uses them, on any device. Answers NULL, or what was not as it should
 * be. */
#include <string.h>

#include "nibble.h"

const char* check_c_memory(const char* device, const char* path);

#define NIBBLE_CHECK(condition) \
  if (!(condition)) return #condition

enum { kBatches = 6, kExamples = 3 };

/* By one of the engine's threads; nibble_free waits for all of them. */
static void count_failure(void* failures, const char* error) {
  if (error != NULL) ++*(int*)failures;
}

/* input (4) of int8; output: class of the largest */
const char* check_c_memory(const char* device, const char* path) {
  const signed char examples[kExamples][4] = {{1, 5, 5, -3}, {-1, -2, -3, -4}, {0, 0, 0, 9}};
  const unsigned char wanted[kExamples] = {1, 0, 3};
  unsigned char answers[kBatches][kExamples];
  unsigned char one = 99;
  int failures[kBatches] = {0};
  nibble_options options = {sizeof(nibble_options), NULL, 2, 1, 2};
  nibble_engine* engine;
  signed char* pinned;
  signed char* own;
  unsigned char* results;
  int i;
  options.device = device;
  engine = nibble_load_with(path, &options);
  NIBBLE_CHECK(engine != NULL);

  pinned = nibble_allocate(engine, sizeof examples, NIBBLE_HOST);
  own = nibble_allocate(engine, sizeof examples, NIBBLE_DEVICE);
  results = nibble_allocate(engine, sizeof wanted, NIBBLE_DEVICE);
  NIBBLE_CHECK(pinned != NULL && own != NULL && results != NULL);
  memcpy(pinned, examples, sizeof examples); /* the host's own */
  NIBBLE_CHECK(nibble_copy(engine, own, pinned, sizeof examples) == 0);
  NIBBLE_CHECK(nibble_run(engine, own, kExamples, results) == 0);
  NIBBLE_CHECK(nibble_copy(engine, answers[0], results, sizeof wanted) == 0);
  NIBBLE_CHECK(memcmp(answers[0], wanted, sizeof wanted) == 0);
  NIBBLE_CHECK(nibble_copy(engine, &one, results + 2, 1) == 0 && one == 3);
  NIBBLE_CHECK(nibble_copy(engine, own + 4, examples[2], 4) == 0); /* the second is the third */
  NIBBLE_CHECK(nibble_run(engine, own, 2, results) == 0);
  NIBBLE_CHECK(nibble_copy(engine, &one, results + 1, 1) == 0 && one == 3);

  NIBBLE_CHECK(nibble_copy(engine, own, examples, sizeof examples + 1) != 0);
  NIBBLE_CHECK(strstr(nibble_last_error(), "buffer: got 13 bytes") != NULL);
  NIBBLE_CHECK(nibble_copy(engine, answers, examples, 1) != 0);
  NIBBLE_CHECK(strstr(nibble_last_error(), "expected what nibble_allocate gave") != NULL);
  NIBBLE_CHECK(nibble_copy(engine, NULL, own, 1) != 0 && nibble_copy(engine, own, NULL, 1) != 0);
  NIBBLE_CHECK(nibble_copy(NULL, own, examples, 1) != 0);
  NIBBLE_CHECK(nibble_allocate(engine, 0, NIBBLE_HOST) == NULL);
  NIBBLE_CHECK(nibble_allocate(engine, 1, 2) == NULL);
  NIBBLE_CHECK(nibble_allocate(NULL, 1, NIBBLE_HOST) == NULL);
  NIBBLE_CHECK(nibble_release(engine, own + 1) != 0);
  NIBBLE_CHECK(nibble_release(engine, own) == 0 && nibble_release(engine, own) != 0);
  NIBBLE_CHECK(nibble_release(engine, NULL) == 0 && nibble_release(NULL, NULL) != 0);

  for (i = 0; i < kBatches; ++i)
    NIBBLE_CHECK(nibble_submit(engine, i % 2 ? pinned : examples[0], kExamples, answers[i],
                               count_failure, &failures[i]) == 0);
  nibble_free(engine); /* what was not released goes along */
  for (i = 0; i < kBatches; ++i)
    NIBBLE_CHECK(failures[i] == 0 && memcmp(answers[i], wanted, sizeof wanted) == 0);

  NIBBLE_CHECK((engine = nibble_load_with(path, NULL)) != NULL);
  NIBBLE_CHECK(nibble_run(engine, examples, 1, &one) == 0 && one == 1);
  nibble_free(engine);
  options.lanes = -1;
  NIBBLE_CHECK(nibble_load_with(path, &options) == NULL);
  NIBBLE_CHECK(strstr(nibble_last_error(), "lanes") != NULL);
  options.bytes = 1;
  NIBBLE_CHECK(nibble_load_with(path, &options) == NULL);
  NIBBLE_CHECK(strstr(nibble_last_error(), "options.bytes: got 1") != NULL);
  NIBBLE_CHECK(nibble_load_with(NULL, NULL) == NULL);
  return NULL;
}
