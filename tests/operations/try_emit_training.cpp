// SPDX-License-Identifier: Apache-2.0
// Emitted training ends with the weights of the trainer.
#include <gtest/gtest.h>

#include "emit/test_train_program.h"
#include "graph/operation_table.h"
#include "integer_training/integer_run_test_support.h"
#include "tests/operations/trials.h"

namespace nibble {
namespace {

// What the trainer begins with; without weights where it refuses the network itself.
Model start_of(const OperationCase& each, const TrainingData& data) {
  const Network network = trained_network(each);
  if (!support_of(each.op, Capability::integer_training).is_there)
    return {.network = network, .parameters = {}};
  IntegerRecipe recipe;
  recipe.network = network;
  if (is<BatchNorm>(each.op)) use_sgd(recipe);
  recipe.data = "made up";
  static_cast<RunSettings&>(recipe) = complete(recipe, data);
  return IntegerLearner(recipe, data, nullptr).snapshot();
}

}  // namespace

void try_emit_training(const OperationCase& each) {
  const TrainingData data =
      made_up_data(input_of(trained_network(each)).shape, 24, static_cast<std::int32_t>(kClasses));
  const EmittedTraining training =
      emit_training(start_of(each, data), data.train, {.batch = 8, .check_steps = 6});
  EXPECT_EQ(training_program(training).failure("gcc -O1 -I."), "");
}

}  // namespace nibble
