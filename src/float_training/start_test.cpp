// SPDX-License-Identifier: Apache-2.0
// Runs that begin with a model: what they refuse, and whole runs with steps.
#include "float_training/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/test_support.h"
#include "core/text_file.h"
#include "float_training/test_models.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline float_training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Starting : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("nibble_start_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    set_thread_count(0);
    fs::remove_all(folder_);
  }

  TrainOptions options(const std::string& name) const {
    TrainOptions options;
    options.folder = folder_ / name;
    options.progress = ProgressStyle::silent;
    return options;
  }

  fs::path folder_;
};

Recipe quantized_recipe() {
  Recipe recipe;
  start_from(recipe, quantized_digits(float_digits(1)));
  recipe.data = "digits";
  recipe.epochs = 2;
  recipe.batch = 48;
  recipe.optimizer = {.rate = 0.01, .weight_decay = 1e-4};
  recipe.schedule = parse_schedule("cosine");
  return recipe;
}

TEST_F(Starting, TakesTheModelsNetworkAndNumbers) {
  Recipe recipe = quantized_recipe();
  EXPECT_EQ(recipe.name, "digits-steps");
  EXPECT_EQ(recipe.network, recipe.start->network);
  recipe.epochs = 0;
  EXPECT_EQ(train(recipe, options("a")).weights_hash, weights_hash(*recipe.start));
  EXPECT_THAT(to_json(recipe), HasSubstr("\"start\""));
}

TEST_F(Starting, WithoutALossTheModelGetsOne) {
  Model model = float_digits(0);
  model.network.nodes.pop_back();
  model.network.nodes.back().name = "loss";
  Recipe recipe;
  start_from(recipe, std::move(model));
  EXPECT_TRUE(is<SoftmaxCrossEntropy>(recipe.network.nodes.back().op));
  EXPECT_NO_THROW(infer_shapes(recipe.network));
}

TEST_F(Starting, NormalizesWhatEntersAsTheModelDid) {
  for (const bool has_moments : {false, true}) {
    Model model = float_digits(1);
    if (has_moments) {
      auto& input = std::get<Input>(model.network.nodes[0].op);
      input.mean = {0.25F};
      input.deviation = {0.5F};
    }
    const Input expected = input_of(model.network);
    Recipe recipe;
    recipe.network = parse_network(kFloatDigits, "digits");
    start_from(recipe, std::move(model));
    recipe.data = "digits";
    recipe.epochs = 0;
    const std::string name = has_moments ? "with" : "without";
    const TrainResult result = train(recipe, options(name));
    EXPECT_EQ(input_of(read_model(folder_ / name / "model.nib").model.network), expected);
    if (has_moments) continue;
    EXPECT_EQ(result.test->loss, evaluate(*recipe.start, load_dataset("digits", Split::test)).loss);
  }
}

TEST_F(Starting, NamesWhatDoesNotFit) {
  const auto error_with = [](const char* network, Model model) {
    Recipe recipe;
    if (network != nullptr) recipe.network = load_network(network);
    return error_of([&] { start_from(recipe, std::move(model)); });
  };
  EXPECT_THAT(error_with("convnet-8x8", float_digits(0)),
              AllOf(HasSubstr("model to start from: got conv.weight (8, 3, 3, 1) in digits"),
                    HasSubstr("as convnet-8x8 has it")));
  Recipe recipe;
  recipe.network = parse_network(kFloatDigits, "digits");
  EXPECT_THAT(error_of([&] { start_from(recipe, quantized_digits(float_digits(0))); }),
              HasSubstr("got q0.step (1,) in digits-steps, expected conv.weight (8, 3, 3, 1)"));
  Model bad = quantized_digits(float_digits(0));
  bad.parameters[0].as<float>()[0] = 0;
  EXPECT_THAT(error_with(nullptr, std::move(bad)),
              HasSubstr("got 0 of q0.step, expected steps that are finite and above 0"));
  Model integers = float_digits(0);
  integers.parameters[0] = Tensor(DType::i8, integers.parameters[0].shape());
  EXPECT_THAT(error_with(nullptr, std::move(integers)), HasSubstr("expected a model of floats"));
}

TEST_F(Starting, StepsAreNotDrawn) {
  Recipe recipe = quantized_recipe();
  recipe.start = nullptr;
  EXPECT_THAT(error_of([&] { train(recipe, options("a")); }),
              HasSubstr("q0.step: got nothing, expected a model to start from (--from)"));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(Starting, RecipesNameAModelFile) {
  write_model(folder_ / "m.nib", quantized_digits(float_digits(0)), {});
  std::ofstream(folder_ / "net.toml") << kQuantizedDigits;
  const std::string text = "network = \"" + (folder_ / "net.toml").string() + "\"\nstart = \"";
  const Recipe recipe = parse_recipe(text + (folder_ / "m.nib").string() + "\"\n", "r.toml");
  ASSERT_TRUE(recipe.start);
  EXPECT_THAT(error_of([&] { parse_recipe(text + "none.nib\"\n", "r.toml"); }),
              AllOf(HasSubstr("r.toml:2: start"), HasSubstr("none.nib")));
  EXPECT_THAT(error_of([&] {
                parse_recipe(
                    "network = \"lenet\"\nstart = \"" + (folder_ / "m.nib").string() + "\"",
                    "r.toml");
              }),
              AllOf(HasSubstr("r.toml:2: start"), HasSubstr("q0.step")));
}

TEST_F(Starting, RunsWithStepsDoNotDependOnThreadsOrStops) {
  Recipe recipe = quantized_recipe();
  recipe.averaging.start = 2;
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    hashes.push_back(train(recipe, options("t" + std::to_string(threads))).weights_hash);
  }
  EXPECT_EQ(hashes[1], hashes[0]);
  EXPECT_EQ(hashes[2], hashes[0]);
  TrainOptions part = options("parts");
  part.stop_after = 1;
  EXPECT_FALSE(train(recipe, part).is_complete);
  part.mode = RunFolderMode::resume;
  const TrainResult last = train(recipe, part);
  EXPECT_TRUE(last.is_complete);
  EXPECT_EQ(last.weights_hash, hashes[0]);

  part.mode = RunFolderMode::resume;
  start_from(recipe, quantized_digits(float_digits(0)));
  EXPECT_THAT(error_of([&] { train(recipe, part); }), HasSubstr("start"));
}

TEST_F(Starting, TheModelFileAnswersAsTheRunDid) {
  const Recipe recipe = quantized_recipe();
  const TrainResult result = train(recipe, options("a"));
  const Model model = read_model(folder_ / "a" / "model.nib").model;
  EXPECT_EQ(model.network.nodes, recipe.network.nodes);
  EXPECT_EQ(evaluate(model, load_dataset("digits", Split::test)).loss, result.test->loss);
  EXPECT_GT(result.test->classes->top1(), 0.8);

  const std::string layers = read_text_file(folder_ / "a" / "layers.csv", "test");
  EXPECT_THAT(layers, AllOf(HasSubstr("q0,activation,0 to 15,"), HasSubstr("q1,activation,uint4,"),
                            HasSubstr("conv,weight,int4,"), HasSubstr("fc,weight,int4,")));
}

}  // namespace
}  // namespace nibble::inline float_training
