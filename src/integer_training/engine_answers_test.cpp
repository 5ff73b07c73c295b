// SPDX-License-Identifier: Apache-2.0
// The engine gives the exact answers of the trainer's own frozen evaluation, on every device and
// path, with any number of threads, whatever the batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/isa.h"
#include "engine/engine_test_support.h"
#include "graph/batch_norm.h"
#include "integer_training/integer_model.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/engine/engine.h"
#include "nibble/graph/model_file.h"

namespace nibble::inline integer_training {
namespace {

struct Case {
  const char* name;
  Shape picture;
  const char* layers;
};

const Case kCases[] = {
    {"residual",
     {6, 6, 2},
     R"({ op = "conv2d", name = "a", channels = 8, kernel = 3, bias = true }, { op = "relu", name = "r" },
        { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
        { op = "add", from = ["b", "r"] }, { op = "dropout" },
        { op = "global_average_pool" }, { op = "linear", name = "c", features = 5 },)"},
    {"pools",
     {12, 10, 3},
     R"({ op = "conv2d", channels = 20, kernel = 5, padding = 2, bias = true }, { op = "max_pool" },
        { op = "relu" }, { op = "conv2d", channels = 70, kernel = [3, 1], stride = 2 },
        { op = "relu6" }, { op = "average_pool", kernel = 2, stride = 1, padding = 1 },
        { op = "flatten" }, { op = "linear", features = 30, bias = true }, { op = "relu" },
        { op = "linear", features = 5 },)"},
    {"means",
     {9, 7, 3},
     R"({ op = "conv2d", channels = 20, kernel = 3, padding = 1 }, { op = "relu" },
        { op = "average_pool", kernel = 3, stride = 2, padding = 1, counts_padding = false },
        { op = "conv2d", channels = 64, kernel = 1 },
        { op = "average_pool", kernel = [2, 3], stride = 1, padding = [1, 2], counts_padding = false },
        { op = "flatten" }, { op = "linear", features = 5 },)"},
    {"branches",
     {8, 8, 4},
     R"({ op = "conv2d", name = "a", channels = 12, kernel = 3, padding = 1, groups = 2 },
        { op = "conv2d", name = "b", channels = 12, kernel = 3, padding = 2, dilation = 2, groups = 4, from = "a" },
        { op = "bias", name = "c", from = "a" }, { op = "concat", name = "d", from = ["b", "c"] },
        { op = "slice", name = "e", begin = [1, 0, 2], end = [0, 0, 0], step = [2, 2, 3] },
        { op = "pad", before = [1, 0, 2], after = [0, 1, 1] }, { op = "relu" },
        { op = "flatten" }, { op = "linear", features = 5 },)"},
    {"norms",
     {8, 8, 3},
     R"({ op = "batch_norm" }, { op = "conv2d", name = "a", channels = 12, kernel = 3, padding = 1 },
        { op = "batch_norm" }, { op = "relu", name = "r" },
        { op = "conv2d", channels = 12, kernel = 3, padding = 1, groups = 12 }, { op = "batch_norm", name = "b" },
        { op = "add", from = ["b", "r"] }, { op = "batch_norm" }, { op = "max_pool" },
        { op = "conv2d", channels = 16, kernel = 3, groups = 2, bias = true }, { op = "batch_norm" },
        { op = "conv2d", channels = 24, kernel = 1, groups = 2 }, { op = "batch_norm" }, { op = "relu" },
        { op = "global_average_pool" }, { op = "linear", features = 20 }, { op = "batch_norm" },
        { op = "linear", features = 5 },)"},
    {"vector", {1, 1, 9}, R"({ op = "flatten" }, { op = "linear", features = 17, bias = true },
        { op = "relu" }, { op = "linear", features = 5, bias = true },)"},
};

class EngineAnswers : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto [name, picture, layers] = GetParam();
    data_ = made_up_data(picture, 40, 5);
    IntegerRecipe recipe;
    recipe.network =
        parse_network("input = [" + std::to_string(picture[0]) + ", " + std::to_string(picture[1]) +
                          ", " + std::to_string(picture[2]) + "]\nlayers = [\n" + layers +
                          "\n{ op = \"softmax_cross_entropy\" } ]",
                      "test");
    recipe.network.class_names = data_.train.class_names;
    recipe.batch = 10;
    recipe.calibration = 30;
    if (has_batch_norm(recipe.network)) recipe.options.update = SgdUpdate{};
    IntegerLearner learner(recipe, data_, nullptr);
    take_steps(learner, data_, recipe.batch, 8, 8);
    model_ = learner.snapshot();
    find_answers();
  }
  void TearDown() override { reset_isa(); }

  void find_answers() {
    IntegerPredictor predictor = predictor_of(model_, "check(cpu,reference)");
    const std::vector<int> exponents = value_exponents_of(model_.network);
    predictor.freeze(calibration_of(model_));
    const InputScale scale = input_scale(input_of(model_.network), data_.train, exponents[0]);
    IntegerBatcher batcher(data_.train, scale, 5);
    const IntegerBatch batch = batcher.load(data_.indices, {}, {});
    const IntegerAnswers answers = predictor.answer(batch.input, ShiftRule::frozen);
    wanted_.assign(answers.mantissas.begin(), answers.mantissas.end());
    const Shape& picture = input_of(model_.network).shape;
    const auto pixels = data_.train.images.as<std::uint8_t>();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto channel = i % static_cast<std::size_t>(picture[picture.rank() - 1]);
      input_.push_back(static_cast<std::byte>(scale.tables[channel * 256 + pixels[i]]));
    }
  }

  Model model() const { return copy_of(model_); }

  std::vector<int> answers(const EngineOptions& options) const {
    const Engine engine(model(), options);
    std::vector<std::byte> output(engine.output().bytes * 40);
    engine.run(input_, 40, output);
    std::vector<int> values;
    for (const std::byte each : output) values.push_back(static_cast<std::int8_t>(each));
    return values;
  }

  TrainingData data_;
  Model model_;
  std::vector<std::byte> input_;
  std::vector<int> wanted_;
};

TEST_P(EngineAnswers, AreTheTrainersOwn) {
  for (const std::string& device : tested_devices()) {
    const std::span<const Isa> paths = supported_isas();
    for (const Isa isa : device == "cpu" ? paths : paths.last(1)) {
      set_isa(isa);
      EXPECT_EQ(answers({.device = device, .max_batch = 40, .threads = 2}), wanted_)
          << device << " " << name_of(isa);
    }
  }
}

TEST_P(EngineAnswers, DoNotDependOnBatchThreadsOrFusion) {
  for (const std::string& device : tested_devices()) {
    SCOPED_TRACE(device);
    for (const int threads : {1, 2, 3}) {
      for (const std::int64_t batch : {1, 7, 40}) {
        EXPECT_EQ(answers({.device = device, .max_batch = batch, .threads = threads}), wanted_);
      }
    }
    EXPECT_EQ(answers({.device = device, .max_batch = 40, .keeps_layers = true}), wanted_);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EngineAnswers, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace nibble::inline integer_training
