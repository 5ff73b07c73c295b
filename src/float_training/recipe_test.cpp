// SPDX-License-Identifier: Apache-2.0
#include "nibble/float_training/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nibble/core/error.h"

namespace nibble::inline float_training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Recipes, AllThatComeWithNibbleAreWhole) {
  ASSERT_GE(named_recipes().size(), 20U);
  for (const NamedRecipe& each : named_recipes()) {
    if (arithmetic_of(find_recipe(each.name)) != Arithmetic::float32) continue;
    SCOPED_TRACE(each.name);
    const Recipe recipe = load_recipe(each.name);
    EXPECT_EQ(recipe.name, each.name);
    EXPECT_FALSE(recipe.summary.empty());
    EXPECT_FALSE(recipe.data.empty());
    EXPECT_NO_THROW(check_policy(recipe.policy, recipe.network));
    EXPECT_TRUE(recipe.policy.rules.empty() || !recipe.follows.empty() ||
                each.name.starts_with("digits"));
    EXPECT_NE(to_json(recipe).find(recipe.network.name), std::string::npos);
  }
}

TEST(Recipes, ReadEveryKey) {
  const Recipe recipe = parse_recipe(R"(
network = "lenet"
data = "mnist"
epochs = 3
batch = 32
seed = 7
optimizer = "adamw"
rate = 0.002
weight_decay = 0.1
schedule = "warmup(1)+cosine"
initialization = "xavier"
crop = 2
flip = true
validation = 5000
patience = 4
average_from = 2
loss_scale = 8
[[round]]
role = "weight"
format = "e4m3"
)",
                                     "mine.toml");
  EXPECT_EQ(recipe.name, "mine");
  EXPECT_EQ(recipe.optimizer.kind, OptimizerKind::adamw);
  EXPECT_EQ(recipe.optimizer.rate, 0.002);
  EXPECT_EQ(to_string(recipe.schedule), "warmup(1)+cosine");
  EXPECT_EQ(recipe.initialization, Initialization::xavier);
  EXPECT_EQ(recipe.augment.padding, 2);
  EXPECT_TRUE(recipe.augment.has_flip);
  EXPECT_EQ(recipe.validation, 5000);
  EXPECT_EQ(recipe.early_stopping.patience, 4);
  EXPECT_TRUE(recipe.averaging.is_on());
  EXPECT_EQ(recipe.policy.loss_scale.start, 8);
  EXPECT_EQ(recipe.policy.rules.size(), 1U);
}

TEST(Recipes, BadInputNamesLineAndKey) {
  const auto error_of = [](const char* toml) -> std::string {
    try {
      parse_recipe(toml, "r.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("data = \"mnist\"\n"), HasSubstr("network"));
  EXPECT_THAT(error_of("network = \"lenett\"\n"),
              AllOf(HasSubstr("r.toml:1"), HasSubstr("lenett")));
  EXPECT_THAT(error_of("network = \"lenet\"\nepochs = -1\n"),
              AllOf(HasSubstr("r.toml:2"), HasSubstr("epochs")));
  EXPECT_THAT(error_of("network = \"lenet\"\nschedule = \"cosin\"\n"),
              AllOf(HasSubstr("r.toml:2"), HasSubstr("schedule")));
  EXPECT_THAT(error_of("network = \"lenet\"\noptimizer = \"sdg\"\n"),
              AllOf(HasSubstr("r.toml:2"), HasSubstr("sgd, adam, adamw")));
  EXPECT_THAT(error_of("network = \"lenet\"\nepoch = 3\n"),
              AllOf(HasSubstr("r.toml:2"), HasSubstr("epoch")));
  EXPECT_THAT(error_of("network = \"lenet\"\narith = \"int8\"\n"),
              HasSubstr("r.toml:2: arith: got int8, expected a recipe of float"));
}

}  // namespace
}  // namespace nibble::inline float_training
