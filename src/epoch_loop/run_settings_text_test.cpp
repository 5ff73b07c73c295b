// SPDX-License-Identifier: Apache-2.0
#include "epoch_loop/run_settings_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nibble/core/error.h"

namespace nibble::inline epoch_loop {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunSettings read(std::string_view toml, bool is_finished = true) {
  const TomlValue root = parse_toml(toml, "mine.toml", "recipe");
  TomlReader table(root, "mine.toml", "recipe");
  const RunSettings settings = read_run_settings(table, "mine.toml", Arithmetic::float32);
  if (is_finished) table.finish();
  return settings;
}

TEST(RunSettingsText, ReadsEveryKey) {
  const RunSettings settings = read(R"(
summary = "a"
follows = "b"
network = "lenet"
data = "mnist"
image_size = 28
mean = [0.25]
deviation = [0.5]
crop = 2
flip = true
cutout = 3
smoothing = 0.125
epochs = 4
batch = 32
seed = 7
validation = 0.125
patience = 5
)");
  EXPECT_EQ(settings.name, "mine");
  EXPECT_EQ(settings.summary, "a");
  EXPECT_EQ(settings.follows, "b");
  EXPECT_EQ(settings.network.name, "lenet");
  EXPECT_EQ(settings.data, "mnist");
  EXPECT_EQ(settings.image_size, 28);
  EXPECT_THAT(settings.mean, ElementsAre(0.25F));
  EXPECT_THAT(settings.deviation, ElementsAre(0.5F));
  EXPECT_EQ(settings.augment.padding, 2);
  EXPECT_TRUE(settings.augment.has_flip);
  EXPECT_EQ(settings.augment.cutout, 3);
  EXPECT_EQ(std::get<SoftmaxCrossEntropy>(settings.network.nodes.back().op).smoothing, 0.125F);
  EXPECT_EQ(settings.epochs, 4);
  EXPECT_EQ(settings.batch, 32);
  EXPECT_EQ(settings.seed, 7U);
  EXPECT_EQ(settings.validation, 0.125);
  EXPECT_EQ(settings.early_stopping.patience, 5);
}

TEST(RunSettingsText, LeavesTheKeysOfTheMethod) {
  const char* toml = "network = \"lenet\"\noptimizer = \"sgd\"\n";
  EXPECT_EQ(read(toml, false).network.name, "lenet");
  EXPECT_THROW(read(toml), Error);
}

TEST(RunSettingsText, BadInputNamesLineAndKey) {
  const auto error_of = [](const char* toml) -> std::string {
    try {
      read(toml);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("network = \"lenet\"\ndeviation = [0]\n"),
              AllOf(HasSubstr("mine.toml:2"), HasSubstr("deviation")));
  EXPECT_THAT(error_of("network = \"lenet\"\nvalidation = -1\n"),
              AllOf(HasSubstr("mine.toml:2"), HasSubstr("a number from 0")));
}

TEST(RunSettingsText, TheKeysOfTheMethodStandAmongItsOwn) {
  const RunSettings settings = read("network = \"lenet\"\ndata = \"mnist\"\npatience = 2\n");
  const auto json = nlohmann::ordered_json::parse(
      run_settings_json(settings, R"({"rate": 0.1})", R"({"policy": []})"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("recipe", "network", "network_digest", "data", "image_size", "seed",
                                "epochs", "batch", "rate", "augment", "mean", "deviation",
                                "validation", "policy", "patience"));
}

}  // namespace
}  // namespace nibble::inline epoch_loop
