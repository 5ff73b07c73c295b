// SPDX-License-Identifier: Apache-2.0
// Five hundred steps of LeNet in emitted C: the trainer's weights.
#include <gtest/gtest.h>

#include "emit/test_train_program.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline emit {
namespace {

TEST(TrainingInC, OfLeNetGivesTheTrainersWeightsAfterFiveHundredSteps) {
  if (!has_program("cc")) GTEST_SKIP() << "no compiler of C";
  IntegerRecipe recipe;
  recipe.network = load_network("lenet");
  recipe.data = "mnist";
  TrainingStart start;
  try {
    start = training_start(recipe);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const EmittedTraining training = emit_training(
      start.model, start.examples, {.batch = 16, .check_steps = 500, .check_images = 1024});
  EXPECT_EQ(training.figures.weights, 430'500);
  EXPECT_EQ(training_program(training).failure("cc -O3 -I."), "");
}

}  // namespace
}  // namespace nibble::inline emit
