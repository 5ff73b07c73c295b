// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "core/text_file.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(IntegerRecipes, AllThatComeWithNibbleAreWhole) {
  int count = 0;
  for (const NamedRecipe& each : named_recipes()) {
    if (arithmetic_of(find_recipe(each.name)) != Arithmetic::int8) continue;
    SCOPED_TRACE(each.name);
    ++count;
    const IntegerRecipe recipe = load_integer_recipe(each.name);
    EXPECT_EQ(recipe.name, each.name);
    EXPECT_TRUE(each.name.ends_with("-int8"));
    EXPECT_FALSE(recipe.summary.empty());
    EXPECT_FALSE(recipe.data.empty());
    EXPECT_TRUE(!recipe.follows.empty() || each.name.starts_with("digits"));
    EXPECT_NO_THROW(check_integers(recipe));
  }
  EXPECT_GE(count, 8);
}

TEST(IntegerRecipes, CorpusNamesSayWhatIsValid) {
  for_each_corpus_file("integer_recipe", 20, [](const std::filesystem::path& path, bool is_valid) {
    const std::string error = error_of(
        [&] { parse_integer_recipe(read_text_file(path, "test"), path.filename().string()); });
    EXPECT_EQ(error == "no error", is_valid) << error;
  });
}

TEST(IntegerRecipes, ReadEveryKey) {
  const IntegerRecipe recipe = parse_integer_recipe(R"(
arith = "int8"
network = "resnet20-nobn"
data = "cifar10"
epochs = 3
seed = 7
crop = 2
mu = "5,4@2"
bias_mu = "2"
shifts = "delayed"
shift_rounding = ["error=stochastic", "stem.value=pseudo-stochastic"]
momentum16 = 8
fraction_bits = 4
residual_bits = 1
decay = true
loss_form = "octaves"
statistics = "running"
calibration = 64
average_from = 3
freeze = ["conv1", "layer1.*"]
place = "reference, stem=cpu"
)",
                                                    "mine.toml");
  EXPECT_EQ(recipe.name, "mine");
  EXPECT_EQ(recipe.augment.padding, 2);
  EXPECT_EQ(to_string(recipe.mu), "5,4@2");
  EXPECT_EQ(to_string(recipe.bias_mu), "2");
  EXPECT_EQ(recipe.options.seed, 7U);
  EXPECT_EQ(recipe.options.rule, ShiftRule::delayed);
  EXPECT_EQ(recipe.options.form, CrossEntropyForm::whole_octaves);
  EXPECT_EQ(recipe.options.statistics, FrozenStatistics::running);
  EXPECT_EQ(recipe.options.roundings.all.error, ShiftRounding::stochastic);
  ASSERT_EQ(recipe.options.roundings.layers.size(), 1U);
  EXPECT_EQ(recipe.options.roundings.layers[0].second.value, ShiftRounding::pseudo_stochastic);
  EXPECT_EQ(recipe.options.roundings.layers[0].second.error, ShiftRounding::stochastic);
  EXPECT_EQ(recipe.options.update,
            UpdateRule(ShiftUpdate{.fraction_bits = 4, .momentum = 8, .has_decay = true}));
  EXPECT_EQ(recipe.options.residual_bits, 1);
  EXPECT_EQ(recipe.calibration, 64);
  EXPECT_EQ(recipe.average_from, 3);
  EXPECT_THAT(recipe.options.frozen, ElementsAre("conv1", "layer1.*"));
  EXPECT_EQ(recipe.options.device, "reference");
  EXPECT_EQ(recipe.options.place, "stem=cpu");
}

TEST(IntegerRecipes, ReadTheKeysOfTheSecondRule) {
  const std::string text = "arith = \"int8\"\nnetwork = \"lenet\"\nupdate = \"sgd\"\n";
  const IntegerRecipe usual = parse_integer_recipe(text, "r");
  EXPECT_EQ(usual.options.update, UpdateRule(SgdUpdate{}));
  EXPECT_EQ(usual.options.roundings.all.gradient, ShiftRounding::stochastic);
  const IntegerRecipe recipe = parse_integer_recipe(text + R"(
rate = 0.1
weight_decay = 5e-4
decay_norms = true
nesterov = true
momentum = 0.5
schedule = "warmup(1)+cosine"
fraction_bits = 8
shift_rounding = ["gradient=nearest"]
)",
                                                    "r");
  EXPECT_EQ(recipe.options.update,
            UpdateRule(SgdUpdate{
                .momentum = 128, .fraction_bits = 8, .has_norm_decay = true, .looks_ahead = true}));
  EXPECT_EQ(recipe.rate, 0.1);
  EXPECT_EQ(recipe.weight_decay, 5e-4);
  EXPECT_EQ(to_string(recipe.schedule), "warmup(1)+cosine");
  EXPECT_EQ(recipe.options.roundings.all.gradient, ShiftRounding::nearest);
  EXPECT_THAT(error_of([&] { parse_integer_recipe(text + "mu = \"5\"", "r.toml"); }),
              AllOf(HasSubstr("r.toml:4: mu"), HasSubstr("update = \"shift\", which has it")));
}

TEST(IntegerRecipes, TheUsualCourseFollowsTheEpochs) {
  const char* text = "arith = \"int8\"\nnetwork = \"lenet\"\nepochs = 20\n";
  EXPECT_EQ(to_string(parse_integer_recipe(text, "r").mu), "5,4@10,3@15");
  const IntegerRecipe other = parse_integer_recipe(text, "r", {.epochs = 8});
  EXPECT_EQ(to_string(other.mu), "5,4@4,3@6");
  EXPECT_EQ(other.average_from, 7);
}

TEST(IntegerRecipes, AnAverageThatBeginsBehindTheEpochsAskedForIsTheUsualOne) {
  const std::string text =
      "arith = \"int8\"\nnetwork = \"lenet\"\nepochs = 20\naverage_from = 17\n";
  const auto start_of = [&](std::int64_t epochs) {
    return parse_integer_recipe(text, "r", {.epochs = epochs}).average_from;
  };
  EXPECT_EQ(start_of(18), 17);
  EXPECT_EQ(start_of(17), 17);
  EXPECT_EQ(start_of(16), 13);
  EXPECT_EQ(start_of(3), 0);
  // Where nobody asked for other epochs it is a mistake of the recipe.
  const IntegerRecipe too_late = parse_integer_recipe(
      "arith = \"int8\"\nnetwork = \"lenet\"\nepochs = 16\naverage_from = 17\n", "r");
  EXPECT_THAT(error_of([&] { check_integers(too_late); }),
              HasSubstr("got 17, expected at most 16"));
}

// The figure of the recipe was measured by it.
TEST(IntegerRecipes, ResNet20IsTheMeanFromEpoch113On) {
  EXPECT_EQ(load_integer_recipe("cifar10-resnet20-int8").average_from, 113);
}

TEST(IntegerRecipes, BadInputNamesLineAndKey) {
  const auto error_in = [](const std::string& line) {
    return error_of(
        [&] { parse_integer_recipe("arith = \"int8\"\nnetwork = \"lenet\"\n" + line, "r.toml"); });
  };
  EXPECT_THAT(error_of([] { parse_integer_recipe("network = \"lenet\"", "r.toml"); }),
              HasSubstr("arith: got float, expected a recipe of int8"));
  EXPECT_THAT(error_in("mu = \"5,4\""), AllOf(HasSubstr("r.toml:3: mu"), HasSubstr("MU@EPOCH")));
  EXPECT_THAT(error_in("shifts = \"frozen\""), HasSubstr("exact or delayed"));
  EXPECT_THAT(error_in("shift_rounding = [\"weight=nearest\"]"),
              AllOf(HasSubstr("r.toml:3: shift_rounding"), HasSubstr("'weight=nearest'")));
  EXPECT_THAT(error_in("momentum16 = 16"), AllOf(HasSubstr("momentum16"), HasSubstr("15")));
  EXPECT_THAT(error_in("fraction_bits = 17"), HasSubstr("fraction_bits"));
  EXPECT_THAT(error_in("loss_form = \"whole\""), HasSubstr("fractional or octaves"));
  EXPECT_THAT(error_in("rate = 0.1"),
              AllOf(HasSubstr("r.toml:3: rate"), HasSubstr("update = \"sgd\", which has it")));
  EXPECT_THAT(error_in("update = \"adam\""), HasSubstr("shift or sgd"));
  EXPECT_THAT(error_in("arithmetic = \"int8\""), HasSubstr("arithmetic"));
  EXPECT_THAT(error_in("start = \"none.nib\""),
              AllOf(HasSubstr("r.toml:3: start"), HasSubstr("none.nib")));
}

}  // namespace
}  // namespace nibble::inline integer_training
