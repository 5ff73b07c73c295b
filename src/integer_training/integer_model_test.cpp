// SPDX-License-Identifier: Apache-2.0
// Integer models in files, averages of weights, and schedules of mu.
#include "integer_training/integer_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/test_support.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/core/error.h"
#include "nibble/graph/model_file.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kModelNetwork = R"(
input = [6, 6, 2]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, bias = true }, { op = "relu", name = "r" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
  { op = "add", from = ["b", "r"] }, { op = "dropout" },
  { op = "global_average_pool" }, { op = "linear", name = "c", features = 5 },
  { op = "softmax_cross_entropy" },
])";

class IntegerModels : public ::testing::Test {
 protected:
  IntegerModels()
      : data_(made_up_data({6, 6, 2}, 80, 5)),
        path_(std::filesystem::temp_directory_path() /
              ("nibble_integer_model_" + std::to_string(::getpid()) + ".nib")) {
    recipe_.network = parse_network(kModelNetwork, "test");
    recipe_.network.class_names = data_.train.class_names;
    recipe_.batch = 10;
    recipe_.calibration = 50;
    IntegerLearner learner(recipe_, data_, nullptr);
    take_steps(learner, data_, recipe_.batch, 12, 12);
    model_ = learner.snapshot();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // All answers, so many images at once.
  std::vector<std::int8_t> answers(const Model& model, std::int64_t at_once, ShiftRule rule) {
    IntegerPredictor predictor = predictor_of(model);
    const std::vector<int> exponents = value_exponents_of(model.network);
    predictor.freeze({exponents, {}});
    IntegerBatcher batcher(data_.train,
                           input_scale(input_of(model.network), data_.train, exponents[0]), 10);
    std::vector<std::int8_t> all;
    for (std::size_t i = 0; i < data_.indices.size(); i += static_cast<std::size_t>(at_once)) {
      const auto count = std::min(static_cast<std::size_t>(at_once), data_.indices.size() - i);
      const IntegerBatch batch = batcher.load(std::span(data_.indices).subspan(i, count), {}, {});
      const IntegerAnswers answer = predictor.answer(batch.input, rule);
      all.insert(all.end(), answer.mantissas.begin(), answer.mantissas.end());
    }
    return all;
  }

  TrainingData data_;
  std::filesystem::path path_;
  IntegerRecipe recipe_;
  Model model_;
};

TEST_F(IntegerModels, AnswerTheSameAloneInAnyBatchAndFromAFile) {
  const auto wanted = answers(model_, 80, ShiftRule::frozen);
  EXPECT_EQ(answers(model_, 1, ShiftRule::frozen), wanted);
  EXPECT_EQ(answers(model_, 17, ShiftRule::frozen), wanted);
  EXPECT_NE(answers(model_, 1, ShiftRule::exact), wanted);
  write_model(path_, model_, {});
  const Model read = read_model(path_).model;
  EXPECT_TRUE(is_integer_model(read));
  EXPECT_EQ(read.network, model_.network);
  EXPECT_EQ(weights_hash(read), weights_hash(model_));
  EXPECT_EQ(answers(read, 17, ShiftRule::frozen), wanted);
}

TEST_F(IntegerModels, EvaluateTheSameFromAFile) {
  const Evaluation first = evaluate_integers(model_, data_.train, ShiftRule::frozen);
  write_model(path_, model_, {});
  const Evaluation again =
      evaluate_integers(read_model(path_).model, data_.train, ShiftRule::frozen);
  EXPECT_EQ(first.images, 80);
  EXPECT_EQ(again.loss, first.loss);
  EXPECT_EQ(again.classes->correct(), first.classes->correct());
}

TEST_F(IntegerModels, WithoutExponentsAreRefusedByTheLayersName) {
  model_.network.nodes[3].value = {};
  try {
    value_exponents_of(model_.network);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("format of layer b"));
  }
  model_.network.nodes[1].weight = {};
  EXPECT_THROW(predictor_of(model_), Error);
  model_.network.nodes[0].value = {};
  EXPECT_FALSE(is_integer_model(model_));
}

TEST(IntegerFormats, HoldAPowerOfTwo) {
  for (const int exponent : {-120, -17, -7, 0, 3, 100}) {
    EXPECT_EQ(exponent_of(int8_of(exponent)), exponent);
  }
  Precision other = int8_of(-7);
  other.format.scaling.scale *= 1.5F;
  EXPECT_EQ(exponent_of(other), std::nullopt);
  EXPECT_EQ(exponent_of({}), std::nullopt);
}

TEST(IntegerAverager, IsTheMeanOfAPowerOfTwoOfSteps) {
  const std::unique_ptr<IntegerBackend> backend = make_backend("cpu");
  const LayerPlace place{backend.get(), backend.get(), backend.get(), backend.get()};
  TrainedTensor tensor({.name = "a.weight", .shape = {3}}, place);
  TrainedTensor* const parameters[] = {&tensor};
  IntegerAverager averager;
  // Epochs 2 and 3 of 3 with 5 steps: a window of 10, of which 8 count.
  std::vector<std::int64_t> seen;
  for (std::int64_t step = 0; step < 15; ++step) {
    tensor.write_mantissas(std::vector<std::int8_t>{static_cast<std::int8_t>(step),
                                                    static_cast<std::int8_t>(-step), -127},
                           0);
    const std::int64_t before = averager.count();
    averager.see({step, 5, 3}, 2, parameters);
    if (averager.count() > before) seen.push_back(step);
  }
  EXPECT_EQ(averager.count(), 8);
  EXPECT_GE(seen.front(), 5);
  EXPECT_EQ(seen.back(), 14);
  std::int64_t sum = 0;
  for (const std::int64_t each : seen) sum += each;
  const auto mean = static_cast<int>((sum + 4) / 8);
  EXPECT_THAT(averager.mean(0).mantissas.as<std::int8_t>(), ElementsAre(mean, -mean, -127));
}

// Under the rule sgd two samples of f = 100·16 + 8 at 2^-8 and of 40·16 at 2^-7 are 100.5 and 80 of
// 2^-8: 90.25.
TEST(IntegerAverager, IsTheMeanOfFineNumbersWhoseExponentsMove) {
  const std::unique_ptr<IntegerBackend> backend = make_backend("cpu");
  const LayerPlace place{backend.get(), backend.get(), backend.get(), backend.get()};
  TrainedTensor weight({.name = "a.weight", .shape = {2}}, place);
  TrainedTensor bias({.name = "a.bias", .shape = {1}, .is_bias = true}, place);
  TrainedTensor* const parameters[] = {&weight, &bias};
  IntegerAverager averager(SgdUpdate{.fraction_bits = 4});
  const auto sample = [&](std::vector<std::int32_t> fine, int exponent, std::int64_t step) {
    WeightsState state = weight.read();
    state.exponent = exponent;
    state.fine = std::move(fine);
    weight.write(state);
    state = bias.read();
    state.exponent = -10;
    state.fine = {24};
    bias.write(state);
    averager.see({step, 2, 1}, 1, parameters);
  };
  sample({100 * 16 + 8, -16}, -8, 0);
  sample({40 * 16, 8}, -7, 1);
  const WeightsState mean = averager.mean(0);
  EXPECT_EQ(mean.exponent, -8);
  EXPECT_THAT(mean.mantissas.as<std::int8_t>(), ElementsAre(90, 0));
  const WeightsState mean_bias = averager.mean(1);
  EXPECT_EQ(mean_bias.exponent, -10);
  EXPECT_THAT(mean_bias.mantissas.as<std::int8_t>(), ElementsAre(2));  // 1.5

  Checkpoint checkpoint;
  std::vector<NamedTensorView> views;
  averager.put_state(checkpoint.words, views);
  for (const NamedTensorView& each : views)
    checkpoint.tensors.push_back({each.name, copy_of(each.tensor)});
  IntegerAverager other(SgdUpdate{.fraction_bits = 4});
  other.take_state(checkpoint, parameters);
  EXPECT_EQ(other.mean(0).exponent, -8);
  EXPECT_THAT(other.mean(0).mantissas.as<std::int8_t>(), ElementsAre(90, 0));
}

std::string error_of_mu(std::string_view text) {
  return error_of([&] { parse_mu(text); });
}

TEST(MuSchedule, StepsDownAfterEpochs) {
  const MuSchedule schedule = parse_mu("5,4@100,3@150");
  EXPECT_EQ(schedule.at(0), 5);
  EXPECT_EQ(schedule.at(99), 5);
  EXPECT_EQ(schedule.at(100), 4);
  EXPECT_EQ(schedule.at(149), 4);
  EXPECT_EQ(schedule.at(1000), 3);
  EXPECT_EQ(parse_mu(to_string(schedule)), schedule);
  EXPECT_EQ(parse_mu("-1").at(7), -1);
}

TEST(MuSchedule, WrongTextsNameTheirPart) {
  EXPECT_THAT(error_of_mu(""), HasSubstr("mu: got ''"));
  EXPECT_THAT(error_of_mu("8"), HasSubstr("'8'"));
  EXPECT_THAT(error_of_mu("-9"), HasSubstr("MU from -8 to 7"));
  EXPECT_THAT(error_of_mu("5,x@3"), HasSubstr("'x@3'"));
  EXPECT_THAT(error_of_mu("5,4"), HasSubstr("MU@EPOCH"));
  EXPECT_THAT(error_of_mu("5@3"), HasSubstr("the first without @EPOCH"));
  EXPECT_THAT(error_of_mu("5,4@10,3@10"), HasSubstr("'3@10'"));
  EXPECT_THAT(error_of_mu("5,4@"), HasSubstr("'4@'"));
  EXPECT_THAT(error_of_mu("5,4@-1"), HasSubstr("'4@-1'"));
  EXPECT_THAT(error_of_mu("5,"), HasSubstr("no comma at the end"));
  EXPECT_THAT(error_of_mu("5,,4@2"), HasSubstr("got ''"));
  EXPECT_THAT(error_of_mu("5,4@10@20"), HasSubstr("'4@10@20'"));
  EXPECT_THAT(error_of_mu("5.0"), HasSubstr("'5.0'"));
}

TEST(MuSchedule, TheUsualCourseIsThatOfNiti) {
  IntegerRecipe recipe;
  recipe.epochs = 200;
  set_usual_course(recipe);
  EXPECT_EQ(to_string(recipe.mu), "5,4@100,3@150");
  EXPECT_EQ(recipe.average_from, 151);
  recipe.epochs = 1;
  set_usual_course(recipe);
  EXPECT_EQ(to_string(recipe.mu), "5");
  EXPECT_EQ(recipe.average_from, 0);
}

}  // namespace
}  // namespace nibble::inline integer_training
