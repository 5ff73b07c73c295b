// SPDX-License-Identifier: Apache-2.0
// VGG-small-7, the network of the published figures: the same weights after fifty steps on every
// fast path, with any number of threads, resumed in the middle. Minutes.
#include <gtest/gtest.h>

#include "core/isa.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/core/parallel.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kSteps = 50;

TEST(VggSmall7, ComesToTheSameWeightsOnEveryPathWithAnyThreadsAndPauses) {
  const TrainingData data = made_up_data({32, 32, 3}, 64, 10);
  IntegerRecipe recipe;
  recipe.network = load_network("vgg-small-7");
  recipe.network.class_names = data.train.class_names;
  recipe.batch = 4;
  recipe.epochs = 5;
  recipe.calibration = 16;
  recipe.augment = {.padding = 4, .has_flip = true};
  const std::vector<std::uint64_t> wanted = train_made_up(recipe, data, kSteps);
  std::int64_t pause = 11;
  int threads = 1;
  for (const Isa isa : supported_isas()) {
    if (isa == Isa::reference || isa == Isa::portable) continue;  // too slow for this network
    set_isa(isa);
    set_thread_count(threads);
    EXPECT_EQ(train_made_up(recipe, data, kSteps, pause), wanted)
        << name_of(isa) << ", " << threads << " threads";
    pause += 9;
    threads = threads % 3 + 1;
  }
  reset_isa();
  for (const int each : {2, 3}) {
    set_thread_count(each);
    EXPECT_EQ(train_made_up(recipe, data, kSteps), wanted) << each << " threads";
  }
  set_thread_count(0);
}

}  // namespace
}  // namespace nibble::inline integer_training
