// SPDX-License-Identifier: Apache-2.0
// Whole courses on a GPU, as long as people train: after the last step the weights are the CPU's.
#include <gtest/gtest.h>

#include "backend/cuda/register.h"
#include "core/test_support.h"
#include "integer_training/integer_run_test_support.h"

namespace nibble::inline integer_training {
namespace {

// Batches of 64 of made-up pictures, from which a network of the tree learns their labels.
void expect_course_of_the_cpu(std::string_view network, const Shape& picture, std::int64_t steps) {
  register_cuda_backend();
  const TrainingData data = made_up_data(picture, 1000, 10);
  IntegerRecipe recipe;
  recipe.network = load_network(network);
  recipe.network.class_names = data.train.class_names;
  recipe.batch = 64;
  recipe.epochs = steps / 10;
  recipe.calibration = 64;
  recipe.augment = {.padding = 2, .has_flip = true};
  set_usual_course(recipe);
  const std::vector<std::uint64_t> wanted = train_made_up(recipe, data, steps);
  recipe.options.device = "cuda";
  EXPECT_EQ(train_made_up(recipe, data, steps), wanted);
}

TEST(DeviceCourse, DigitsForTenEpochsAreThoseOfTheCpu) {
  register_cuda_backend();
  const TemporaryFolder folder;
  const auto train_on = [&](const std::string& device) {
    IntegerRecipe recipe = load_integer_recipe("digits-convnet-int8", {.epochs = 10});
    recipe.options.device = device;
    return train_integers(recipe,
                          {.folder = folder.path() / device, .progress = ProgressStyle::silent});
  };
  const TrainResult wanted = train_on("cpu");
  EXPECT_GT(wanted.test->classes->correct(), 324);  // of 360
  const TrainResult got = train_on("cuda");
  EXPECT_EQ(got.weights_hash, wanted.weights_hash);
  EXPECT_EQ(got.test->loss, wanted.test->loss);
}

TEST(DeviceCourse, LenetForFiveHundredStepsIsThatOfTheCpu) {
  expect_course_of_the_cpu("lenet", {28, 28, 1}, 500);
}

TEST(DeviceCourse, VggSmall7ForFiftyStepsIsThatOfTheCpu) {
  expect_course_of_the_cpu("vgg-small-7", {32, 32, 3}, 50);
}

TEST(DeviceCourse, ResNet20WithoutNormsForFiftyStepsIsThatOfTheCpu) {
  expect_course_of_the_cpu("resnet20-nobn", {32, 32, 3}, 50);
}

}  // namespace
}  // namespace nibble::inline integer_training
