// SPDX-License-Identifier: Apache-2.0
// Integer training that begins with a model, and layers that stay as they are.
#include "integer_training/integer_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "graph/integer_form.h"
#include "integer_training/integer_model.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kThree = R"(
input = [4, 4, 3]
layers = [
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1, bias = true }, { op = "relu" },
  { op = "conv2d", name = "b", channels = 6, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "flatten" }, { op = "linear", name = "c", features = 4, bias = true },
  { op = "softmax_cross_entropy" },
])";

Model float_model(const Network& network) {
  Model model{network, {}};
  std::uint32_t stream = 0;
  for (const Parameter& parameter : parameters_of(network)) {
    Tensor& tensor = model.parameters.emplace_back(DType::f32, parameter.shape);
    ++stream;
    for (std::size_t i = 0; i < tensor.as<float>().size(); ++i)
      tensor.as<float>()[i] = static_cast<float>(draw32({3, stream, 0}, i)) / 4.3e9F - 0.5F;
  }
  return model;
}

IntegerRecipe recipe_from(Model model) {
  IntegerRecipe recipe;
  start_from(recipe, std::move(model));
  recipe.batch = 10;
  recipe.epochs = 5;
  return recipe;
}

TEST(IntegerStart, FloatsAreRoundedToTheSmallestExponentThatReachesThem) {
  Model model = float_model(parse_network(R"(
input = [3]
layers = [ { op = "linear", name = "a", features = 2, bias = true }, { op = "softmax_cross_entropy" } ]
)",
                                          "test"));
  const std::vector<float> weights = {0.75F, -1.0F, 0.5F, 0.0F, 0.0039F, -0.004F};
  std::ranges::copy(weights, model.parameters[0].as<float>().begin());
  std::ranges::copy(std::vector{0.001F, -0.002F}, model.parameters[1].as<float>().begin());
  for (const int bits : {0, 4}) {
    const IntegerRecipe recipe = recipe_from(copy_of(model));
    const IntegerOptions options{.update = ShiftUpdate{.fraction_bits = bits, .momentum = 3}};
    IntegerSession session(recipe.network, options);
    write_start(*recipe.start, options.update, session.tape().parameters());
    const WeightsState weight = session.tape().parameters()[0]->read();
    EXPECT_EQ(session.tape().parameters()[0]->exponent(), -7);  // 127 steps of it are nearly 1
    EXPECT_THAT(weight.mantissas.as<std::int8_t>(),
                ElementsAre(96, -127, 64, 0, bits > 0 ? 1 : 0, -1));
    EXPECT_EQ(weight.momentum.size(), 6U);
    if (bits > 0) {
      EXPECT_THAT(weight.fine, ElementsAre(1536, -2032, 1024, 0, 8, -8));
    }
    const WeightsState bias = session.tape().parameters()[1]->read();
    EXPECT_EQ(session.tape().parameters()[1]->exponent(), -10);  // biases must be able to grow
    EXPECT_THAT(bias.mantissas.as<std::int8_t>(), ElementsAre(1, -2));
  }
}

TEST(IntegerStart, ModelsOfIntegerTrainingAreTakenAsTheyAre) {
  const TrainingData data = made_up_data({4, 4, 3}, 60, 4);
  IntegerRecipe recipe;
  recipe.network = parse_network(kThree, "test");
  IntegerLearner first(recipe, data, nullptr);
  take_steps(first, data, 10, 5, 5);
  const IntegerRecipe second = recipe_from(first.snapshot());
  EXPECT_EQ(second.network, recipe.network);
  EXPECT_EQ(hashes_of(IntegerLearner(second, data, nullptr)), hashes_of(first));
}

TEST(IntegerStart, SoAreTheirBatchNormsWhoseStatisticsFollowTheAugmentation) {
  const TrainingData data = made_up_data({4, 4, 3}, 60, 4);
  IntegerRecipe recipe;
  recipe.network = parse_network(R"(
input = [4, 4, 3]
layers = [
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1 }, { op = "batch_norm", name = "bn" }, { op = "relu" },
  { op = "flatten" }, { op = "linear", name = "b", features = 4, bias = true },
  { op = "softmax_cross_entropy" },
])",
                                 "test");
  choose_update("sgd", recipe);
  recipe.augment = {.padding = 1};
  IntegerLearner first(recipe, data, nullptr);
  take_steps(first, data, 10, 5, 50);
  const Model trained = first.snapshot();
  IntegerRecipe second = recipe_from(copy_of(trained));
  choose_update("sgd", second);
  second.augment = recipe.augment;
  EXPECT_EQ(weights_hash(IntegerLearner(second, data, nullptr).snapshot()), weights_hash(trained));
  second.augment = {};
  const Model plain = IntegerLearner(second, data, nullptr).snapshot();
  for (std::size_t i = 0; i < trained.parameters.size(); ++i) {
    const bool is_same = std::memcmp(plain.parameters[i].data(), trained.parameters[i].data(),
                                     trained.parameters[i].bytes()) == 0;
    EXPECT_EQ(is_same, parameters_of(trained.network)[i].is_trained) << i;
  }
}

TEST(IntegerStart, TheSecondRuleBeginsWithModelsToo) {
  const TrainingData data = made_up_data({4, 4, 3}, 60, 4);
  IntegerRecipe recipe = recipe_from(float_model(parse_network(kThree, "test")));
  choose_update("sgd", recipe);
  recipe.options.frozen = {"b"};
  IntegerLearner learner(recipe, data, nullptr);
  const Model before = learner.snapshot();
  take_steps(learner, data, 10, 5, 5);
  const Model after = learner.snapshot();
  EXPECT_TRUE(std::ranges::equal(before.parameters[2].as<std::int8_t>(),
                                 after.parameters[2].as<std::int8_t>()));
  EXPECT_FALSE(std::ranges::equal(before.parameters[0].as<std::int8_t>(),
                                  after.parameters[0].as<std::int8_t>()));
}

TEST(IntegerStart, BatchNormsFoldAndStepsRound) {
  const Network network = parse_network(R"(
input = [8, 8, 3]
layers = [
  { op = "fake_quantize", low = -127, high = 127 },
  { op = "conv2d", name = "a", channels = 6, kernel = 3, padding = 1, weight_steps = 6, weight_format = "int4" },
  { op = "relu" }, { op = "conv2d", name = "b", channels = 4, kernel = 3 }, { op = "batch_norm", name = "bn" },
  { op = "dropout" }, { op = "flatten" }, { op = "linear", name = "c", features = 4 },
  { op = "softmax_cross_entropy" },
])",
                                        "test");
  Model model = float_model(network);
  for (Tensor& each : model.parameters) {
    for (float& x : each.as<float>()) x = std::abs(x) + 0.125F;  // steps and variances are above 0
  }
  const IntegerRecipe recipe = recipe_from(std::move(model));
  std::vector<std::string> names;
  for (const Parameter& each : parameters_of(recipe.network)) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("a.weight", "b.weight", "b.bias", "c.weight"));
  EXPECT_NO_THROW(check_integers(recipe));
  const TrainingData data = made_up_data({8, 8, 3}, 20, 4);
  IntegerLearner learner(recipe, data, nullptr);
  EXPECT_NO_THROW(take_steps(learner, data, 10, 2, 2));
}

TEST(IntegerStart, NamesWhatDoesNotFit) {
  const Network network = parse_network(kThree, "test");
  Model integers = float_model(network);
  integers.parameters[0] = Tensor(DType::i8, integers.parameters[0].shape());
  EXPECT_THAT(error_of([&] { recipe_from(std::move(integers)); }),
              HasSubstr("model to start from: got a.weight as i8, expected a float model"));
  Model endless = float_model(network);
  endless.parameters[2].as<float>()[3] = INFINITY;
  EXPECT_THAT(error_of([&] { recipe_from(std::move(endless)); }),
              HasSubstr("a number in b.weight that is not finite"));
  IntegerRecipe other;
  other.network = parse_network(kThree, "other");
  std::get<Conv2d>(other.network.nodes[3].op).channels = 7;
  EXPECT_THAT(error_of([&] { start_from(other, float_model(network)); }),
              HasSubstr("got b.weight (6, 3, 3, 6) in test, expected b.weight (7, 3, 3, 6)"));
}

class FrozenLayers : public ::testing::Test {
 protected:
  FrozenLayers() : data_(made_up_data({4, 4, 3}, 60, 4)) {
    recipe_.network = parse_network(kThree, "test");
    recipe_.batch = 10;
  }

  // Which weights a few steps moved.
  std::vector<std::string> moved() {
    IntegerLearner learner(recipe_, data_, nullptr);
    const Model before = learner.snapshot();
    take_steps(learner, data_, recipe_.batch, 6, 6);
    const Model after = learner.snapshot();
    const std::vector<Parameter> parameters = parameters_of(recipe_.network);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!std::ranges::equal(before.parameters[i].as<std::int8_t>(),
                              after.parameters[i].as<std::int8_t>()))
        names.push_back(parameters[i].name);
    }
    return names;
  }

  TrainingData data_;
  IntegerRecipe recipe_;
};

TEST_F(FrozenLayers, StayAndLetErrorsThrough) {
  for (const char* device : {"cpu", "check(cpu,reference)"}) {
    recipe_.options.device = device;
    recipe_.options.frozen = {};
    EXPECT_THAT(moved(), ElementsAre("a.weight", "a.bias", "b.weight", "c.weight", "c.bias"));
    recipe_.options.frozen = {"b"};
    EXPECT_THAT(moved(), ElementsAre("a.weight", "a.bias", "c.weight", "c.bias"));
    recipe_.options.frozen = {"?", "nothing"};
    EXPECT_THAT(moved(), ElementsAre());
    recipe_.options.frozen = {"a", "b*"};
    EXPECT_THAT(moved(), ElementsAre("c.weight", "c.bias"));
  }
}

TEST_F(FrozenLayers, BelowThemNoErrorIsMade) {
  recipe_.options.frozen = {"a", "b"};
  IntegerLearner learner(recipe_, data_, nullptr);
  take_steps(learner, data_, recipe_.batch, 1, 1);
  const Checkpoint checkpoint = checkpoint_of(learner);
  EXPECT_EQ(integer_word(checkpoint.words, "batches.b.value"), 1);
  EXPECT_EQ(integer_word(checkpoint.words, "batches.b.error"), 0);
  EXPECT_EQ(integer_word(checkpoint.words, "batches.c.error"), 0);
}

TEST_F(FrozenLayers, ArePartOfTheSettingsAndChecked) {
  recipe_.options.frozen = {"a", "b*"};
  EXPECT_THAT(to_json(recipe_), HasSubstr("\"freeze\""));
  EXPECT_NO_THROW(check_integers(recipe_));
  recipe_.options.frozen = {"relu*"};
  EXPECT_THAT(error_of([&] { check_integers(recipe_); }),
              HasSubstr("layers to freeze: got 'relu*', expected a name or pattern of a layer"));
  recipe_.options.frozen = {"*"};
  EXPECT_THAT(error_of([&] { check_integers(recipe_); }), HasSubstr("got all of them"));
}

}  // namespace
}  // namespace nibble::inline integer_training
