/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of docs/emit.md and docs/emit-training.md, with what `nibble emit --train` wrote. */
#include <stdio.h>

#include <net_train.h>
#include <net_train_vectors.h>
#include <emit_0.c>

static uint16_t filled; /* of the check's images, in the order of the first epoch */

static void fill(int8_t* images, net_train_label_t* labels, uint16_t count) {
  static uint16_t order[NET_TRAIN_CHECK_IMAGES];
  net_train_order(0, NET_TRAIN_CHECK_IMAGES, order);
  for (uint16_t i = 0; i < count; ++i, ++filled) {
    for (int k = 0; k < NET_TRAIN_INPUT_SIZE; ++k)
      images[i * NET_TRAIN_INPUT_SIZE + k] =
          net_train_images[order[filled] * NET_TRAIN_INPUT_SIZE + k];
    labels[i] = (net_train_label_t)net_train_labels[order[filled]];
  }
}

static void tell(net_train_state* state, const int8_t* images, const net_train_label_t* classes) {
  static int8_t answers[NET_TRAIN_BATCH * NET_TRAIN_CLASSES];
  int right = 0;
  net_train_answer(state, images, NET_TRAIN_BATCH, answers);
  for (int i = 0; i < NET_TRAIN_BATCH; ++i) {
    const int8_t* answer = answers + i * NET_TRAIN_CLASSES;
    int largest = 0;
    for (int k = 1; k < NET_TRAIN_CLASSES; ++k)
      if (answer[k] > answer[largest]) largest = k;
    right += classes[i] == largest;
  }
  printf("%lu steps, the weights are %s, %d of %d classes\n", (unsigned long)state->steps,
         net_train_hash(state) == net_train_hashes[state->steps - 1].hash ? "right" : "wrong",
         right, NET_TRAIN_BATCH);
}

static void one_step(void) {
  const int8_t mu = NET_TRAIN_CHECK_MU, bias_mu = NET_TRAIN_CHECK_BIAS_MU;
  static int8_t images[NET_TRAIN_BATCH * NET_TRAIN_INPUT_SIZE];
  static net_train_label_t labels[NET_TRAIN_BATCH], classes[NET_TRAIN_BATCH];
  filled = 0;
  fill(images, labels, NET_TRAIN_BATCH);
#include <emit_1.c>
  tell(&state, images, classes);
}

static void some_steps(void) {
  const int steps = NET_TRAIN_CHECK_HASHES;
  const uint16_t count = NET_TRAIN_BATCH;
  static net_train_label_t classes[NET_TRAIN_BATCH];
  filled = 0;
#include <emit-training_0.c>
  tell(&state, images, classes);
}

int main(void) {
  uint8_t picture[NET_INPUT_SIZE];
  while (fread(picture, 1, sizeof picture, stdin) == sizeof picture)
    printf("%d ", label_of(picture));
  puts("are the labels");
  one_step();
  some_steps();
  return 0;
}
