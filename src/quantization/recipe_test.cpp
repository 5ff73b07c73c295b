// SPDX-License-Identifier: Apache-2.0
#include "quantization/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline quantization {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words_of(std::string_view recipe) {
  std::vector<std::string> words;
  for (const RecipeOption& each : quantize_recipe(recipe)) {
    words.push_back(each.name + "=" + each.value);
  }
  return words;
}

TEST(QuantizeRecipe, TheInt4OneCalibratesByPercentileAndTrains) {
  EXPECT_THAT(words_of("int4-finetuned"),
              ElementsAre("activations=uint4", "edges=8", "finetune=4", "lr=0.002",
                          "method=percentile:99.999", "weights=int4"));
}

TEST(QuantizeRecipe, MayBeAFile) {
  const TemporaryFolder folder;
  folder.put("mine.toml", "weights = \"int3\"\nflip = true\n");
  EXPECT_THAT(words_of((folder.path() / "mine.toml").string()),
              ElementsAre("flip=true", "weights=int3"));
  folder.put("bad.toml", "weights = [3]\n");
  EXPECT_THAT(error_of([&] { quantize_recipe((folder.path() / "bad.toml").string()); }),
              HasSubstr("weights: got a list, expected a value"));
}

TEST(QuantizeRecipe, NamesNoFileAndNothingUnknown) {
  const TemporaryFolder folder;
  for (const char* key : {"report", "fake", "output", "o", "plan", "scan-plot", "per-layer",
                          "recipe", "calib", "data", "json", "threads", "help", "weight"}) {
    folder.put("bad.toml", std::string("weights = \"int4\"\n") + key + " = \"x\"\n");
    EXPECT_THAT(error_of([&] { quantize_recipe((folder.path() / "bad.toml").string()); }),
                HasSubstr(std::string("bad.toml:2: key of a recipe: got '") + key +
                          "', expected one of activations, crop, edges, "));
  }
}

TEST(QuantizeRecipe, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(
      error_of([] { quantize_recipe("int1"); }),
      HasSubstr(
          "recipe: got 'int1', expected int4-finetuned, int4-weights, int8, nvidia-int4 or the "
          "path of a .toml file"));
}

}  // namespace
}  // namespace nibble::inline quantization
