// SPDX-License-Identifier: Apache-2.0
// For tests: emitted training, compiled by a compiler of the machine, with a main that tries all.
#pragma once

#include <cstdlib>
#include <string>

#include "emit/c_text.h"
#include "emit/kernels.h"
#include "emit/test_emitted_program.h"
#include "nibble/emit/emit_training.h"

namespace nibble::inline emit {

// Runs the check, then two states by turns, and calls that must be refused.
inline constexpr std::string_view kTrainMain = R"(
#include <stdio.h>

#include <net_train.h>
#include <net_train_vectors.h>

typedef char size_is_as_told[sizeof(net_train_state) == NET_TRAIN_ARENA_BYTES ? 1 : -1];

static net_train_state first, second;
static int8_t images[NET_TRAIN_BATCH * NET_TRAIN_INPUT_SIZE];
static int8_t answers[NET_TRAIN_BATCH * NET_TRAIN_CLASSES];
static net_train_label_t labels[NET_TRAIN_BATCH], classes[NET_TRAIN_BATCH];

static int refusals(void) {
  const net_train_label_t wrong = (net_train_label_t)NET_TRAIN_CLASSES;
  return net_train_init(0) == NET_TRAIN_NULL_POINTER &&
         net_train_step(0, images, labels, 1, 5, 1) == NET_TRAIN_NULL_POINTER &&
         net_train_step(&first, 0, labels, 1, 5, 1) == NET_TRAIN_NULL_POINTER &&
         net_train_step(&first, images, 0, 1, 5, 1) == NET_TRAIN_NULL_POINTER &&
         net_train_step(&first, images, labels, 0, 5, 1) == NET_TRAIN_WRONG_COUNT &&
         net_train_step(&first, images, labels, NET_TRAIN_BATCH + 1, 5, 1) ==
             NET_TRAIN_WRONG_COUNT &&
         net_train_step(&first, images, &wrong, 1, 5, 1) == NET_TRAIN_WRONG_LABEL &&
         net_train_step(&first, images, labels, 1, 8, 1) == NET_TRAIN_WRONG_MU &&
         net_train_step(&first, images, labels, 1, 5, -9) == NET_TRAIN_WRONG_MU &&
         net_train_answer(&first, images, 1, 0) == NET_TRAIN_NULL_POINTER &&
         net_train_classify(&first, images, 1, 0) == NET_TRAIN_NULL_POINTER &&
         net_train_order(0, 1, 0) == NET_TRAIN_NULL_POINTER && first.steps == 3;
}

// The class of an answer, by another way than net_train_classify.
static int is_class_right(void) {
  int16_t c;
  if (net_train_answer(&first, images, 1, answers) != NET_TRAIN_OK ||
      net_train_classify(&first, images, 1, classes) != NET_TRAIN_OK)
    return 0;
  for (c = 0; c < NET_TRAIN_CLASSES; ++c) {
    if (answers[c] > answers[classes[0]]) return 0;
    if (answers[c] == answers[classes[0]] && c < classes[0]) return 0;
  }
  return 1;
}

static int failed_part(void) {
  int step;
  uint64_t before;
  int32_t i;
  if (net_train_check() != 0) return 1;
  for (i = 0; i < NET_TRAIN_INPUT_SIZE; ++i) images[i] = net_train_images[i];
  net_train_init(&first);
  net_train_init(&second);
  if (net_train_hash(&first) != net_train_hash(&second)) return 2;
  for (step = 0; step < 3; ++step) net_train_step(&first, images, labels, 1, 5, 1);
  before = net_train_hash(&first);
  for (step = 0; step < 3; ++step) {
    net_train_step(&second, images, labels, 1, 5, 1);
    if (step == 1) net_train_classify(&second, images, 1, classes);
  }
  if (net_train_hash(&second) != before) return 3;
  if (!refusals()) return 4;
  if (!is_class_right() || net_train_hash(&first) != before) return 5;
  return 0;
}

int main(void) {
  const int part = failed_part();
  if (part > 0) printf("part %d\n", part);
  return part;
}
)";

// `failure` says nothing, or "part N" of what main tries; the compiler is told -I.
inline EmittedProgram training_program(const EmittedTraining& training,
                                       const std::string& prefix = "net") {
  EmittedNetwork network{.files = training.files, .figures = {}};
  network.files.push_back({prefix + "_target.h", with_names(kernel_text("target.h"), prefix)});
  network.files.push_back({"main.c", with_names(kTrainMain, prefix)});
  return EmittedProgram(network);
}

inline bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " > /dev/null").c_str()) == 0;
}

}  // namespace nibble::inline emit
