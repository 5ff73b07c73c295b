/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a .nib model and asks it about one made-up picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nibble.h"

static void print_value(const nibble_value* value) {
  static const char* const kTypes[] = {"i8", "u8", "i32"};
  printf("(");
  for (int32_t i = 0; i < value->rank; ++i) {
    printf(i == 0 ? "%lld" : ", %lld", (long long)value->shape[i]);
  }
  printf(value->rank == 1 ? ",) %s" : ") %s", kTypes[value->type]);
}

static int32_t number_at(const nibble_value* value, const unsigned char* bytes, int64_t i) {
  int32_t number = 0;
  if (value->type == NIBBLE_INT8) return (signed char)bytes[i];
  if (value->type == NIBBLE_UINT8) return bytes[i];
  memcpy(&number, bytes + 4 * i, 4);
  return number;
}

/* What one answer says: an index, or the largest of one number a class. */
static int64_t class_of(const nibble_value* value, const unsigned char* answer) {
  int64_t best = 0;
  if (value->elements == 1) return number_at(value, answer, 0);
  for (int64_t i = 1; i < value->elements; ++i) {
    if (number_at(value, answer, i) > number_at(value, answer, best)) best = i;
  }
  return best;
}

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: engine_c MODEL.nib\n");
    return 2;
  }
  nibble_engine* engine = nibble_load(arguments[1], 1, 1);
  if (engine == NULL) {
    fprintf(stderr, "%s\n", nibble_last_error());
    return 1;
  }
  const nibble_value* in = nibble_input(engine);
  const nibble_value* out = nibble_output(engine);
  printf("%s: ", nibble_name(engine));
  print_value(in);
  printf(" to ");
  print_value(out);
  printf("\n");

  unsigned char* picture = calloc(in->bytes, 1);
  unsigned char* answer = calloc(out->bytes, 1);
  if (picture == NULL || answer == NULL) return 1;
  for (size_t i = 0; in->type != NIBBLE_INT32 && i < in->bytes; ++i) {
    picture[i] = (unsigned char)(i % 100);
  }
  const int failed = nibble_run(engine, picture, 1, answer);
  if (failed) {
    fprintf(stderr, "%s\n", nibble_last_error());
  } else {
    printf("class %lld\n", (long long)class_of(out, answer));
  }
  free(picture);
  free(answer);
  nibble_free(engine);
  return failed ? 1 : 0;
}
