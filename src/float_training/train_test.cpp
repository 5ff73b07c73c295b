// SPDX-License-Identifier: Apache-2.0
// Whole runs on the bundled digits: what they reach, and what does not change their numbers.
#include "nibble/float_training/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "nibble/core/error.h"
#include "nibble/core/npy.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/model_file.h"
#include "nibble/graph/network_text.h"

namespace nibble::inline float_training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Training : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("nibble_train_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override {
    set_thread_count(0);
    fs::remove_all(folder_);
  }

  TrainOptions options(const std::string& name, RunFolderMode mode = RunFolderMode::fresh) const {
    TrainOptions options;
    options.folder = folder_ / name;
    options.mode = mode;
    options.progress = ProgressStyle::silent;
    return options;
  }

  fs::path folder_;
};

Recipe quick(const char* network = "mlp-64-32-10") {
  Recipe recipe;
  recipe.network = load_network(network);
  recipe.data = "digits";
  recipe.epochs = 3;
  recipe.batch = 48;
  recipe.optimizer = {.kind = OptimizerKind::adam, .rate = 0.003};
  return recipe;
}

PrecisionPolicy rounded_policy() {
  return parse_policy(R"(
loss_scale = 64
[[round]]
role = ["weight", "activation", "error", "gradient", "momentum", "update", "master"]
parameters = "all"
format = "e5m10"
rounding = "stochastic"
)",
                      "rounded");
}

TEST_F(Training, LearnsTheDigits) {
  Recipe recipe = quick("convnet-8x8");
  recipe.epochs = 15;
  const TrainResult result = train(recipe, options("a"));
  ASSERT_TRUE(result.test && result.test->classes);
  EXPECT_GT(result.test->classes->top1(), 0.93);
  for (const char* file : {"settings.json", "epochs.csv", "layers.csv", "histograms.csv",
                           "summary.json", "model.nib", "checkpoint.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder_ / "a" / file)) << file;
  }
  // The model file gives the same answers.
  const Evaluation again =
      evaluate(read_model(folder_ / "a" / "model.nib").model, load_dataset("digits", Split::test));
  EXPECT_EQ(again.classes->correct(), result.test->classes->correct());
  EXPECT_EQ(again.loss, result.test->loss);
}

TEST_F(Training, GivesTheSameWeightsWithAnyNumberOfThreads) {
  for (const char* network : {"mlp-64-32-10", "convnet-8x8"}) {
    for (const bool is_rounded : {false, true}) {
      Recipe recipe = quick(network);
      recipe.epochs = 1;
      if (is_rounded) {
        recipe.policy = rounded_policy();
        recipe.optimizer = {.kind = OptimizerKind::sgd,
                            .rate = 0.05};  // Adam's squares vanish in fp16
      }
      std::uint64_t first = 0;
      for (const int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        const std::uint64_t hash =
            train(recipe,
                  options("t", threads == 1 ? RunFolderMode::overwrite : RunFolderMode::overwrite))
                .weights_hash;
        if (threads == 1) first = hash;
        EXPECT_EQ(hash, first) << network << " rounded " << is_rounded << ", " << threads
                               << " threads";
      }
    }
  }
}

TEST_F(Training, AnotherSeedGivesOtherWeights) {
  Recipe recipe = quick();
  recipe.epochs = 1;
  const std::uint64_t first = train(recipe, options("a")).weights_hash;
  recipe.seed = 2;
  EXPECT_NE(train(recipe, options("b")).weights_hash, first);
}

TEST_F(Training, ResumesToTheVeryWeightsOfAnUninterruptedRun) {
  Recipe recipe = quick("convnet-8x8");
  recipe.policy = rounded_policy();
  recipe.policy.loss_scale.is_dynamic = true;
  recipe.averaging.start = 2;
  recipe.validation = 200;
  recipe.schedule = parse_schedule("warmup(1)+cosine");
  const TrainResult whole = train(recipe, options("whole"));
  TrainOptions part = options("parts");
  part.stop_after = 1;
  EXPECT_FALSE(train(recipe, part).is_complete);
  part.mode = RunFolderMode::resume;
  EXPECT_FALSE(train(recipe, part).is_complete);
  const TrainResult last = train(recipe, part);
  EXPECT_TRUE(last.is_complete);
  EXPECT_EQ(last.weights_hash, whole.weights_hash);
  EXPECT_EQ(last.best, whole.best);
  EXPECT_EQ(last.test->loss, whole.test->loss);
}

TEST_F(Training, AnInterruptInTheMiddleOfAnEpochLosesNothing) {
  Recipe recipe = quick();
  const TrainResult whole = train(recipe, options("whole"));

  // A listener that presses Ctrl-C at a certain step.
  class Presser final : public EventSink {
   public:
    void scalar(std::string_view, std::int64_t step, double) override {
      if (step == 40 && !pressed_) {
        pressed_ = true;
        std::raise(SIGINT);
      }
    }
    void histogram(std::string_view, std::int64_t, std::span<const float>) override {}
    void text(std::string_view, std::int64_t, std::string_view) override {}
    void flush() override {}

   private:
    bool pressed_ = false;
  };
  TrainOptions part = options("parts");
  part.make_events = [](const RunFolder&, std::optional<std::int64_t>) {
    return std::make_unique<Presser>();
  };
  const TrainResult stopped = train(recipe, part);
  EXPECT_FALSE(stopped.is_complete);
  EXPECT_EQ(stopped.steps, 40);
  EXPECT_FALSE(fs::exists(folder_ / "parts" / "summary.json"));
  const TrainResult last = train(recipe, options("parts", RunFolderMode::resume));
  EXPECT_EQ(last.weights_hash, whole.weights_hash);
  std::ifstream a(folder_ / "whole" / "layers.csv");
  std::ifstream b(folder_ / "parts" / "layers.csv");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(a), {}),
            std::string(std::istreambuf_iterator<char>(b), {}));
}

TEST_F(Training, RefusesACheckpointOfAnotherRun) {
  Recipe recipe = quick();
  recipe.epochs = 2;
  TrainOptions part = options("a");
  part.stop_after = 1;
  train(recipe, part);
  const auto error_of = [&](const Recipe& other) -> std::string {
    try {
      train(other, options("a", RunFolderMode::resume));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  Recipe other = recipe;
  other.network = load_network("convnet-8x8");
  EXPECT_THAT(error_of(other), AllOf(HasSubstr("checkpoint"), HasSubstr("network")));
  other = recipe;
  other.seed = 9;
  EXPECT_THAT(error_of(other), HasSubstr("seed"));
  other = recipe;
  other.optimizer.rate = 0.1;
  EXPECT_THAT(error_of(other), HasSubstr("checkpoint"));
}

TEST_F(Training, ALossThatIsNotANumberNamesStepAndLayer) {
  Recipe recipe = quick("convnet-8x8");
  recipe.optimizer = {.kind = OptimizerKind::sgd, .rate = 1e20};
  try {
    train(recipe, options("a"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("step"), HasSubstr("first in")));
  }
}

TEST_F(Training, ChoosesByTheValidationSplitAndStopsEarly) {
  Recipe recipe = quick();
  recipe.epochs = 40;
  recipe.validation = 0.2;
  recipe.early_stopping.patience = 2;
  recipe.optimizer.rate = 0.02;
  const TrainResult result = train(recipe, options("a"));
  EXPECT_TRUE(result.is_complete);
  EXPECT_LT(result.epochs, 40);
  EXPECT_EQ(result.validation->images, 287);
  EXPECT_EQ(result.best.value, result.validation->classes->top1());
  EXPECT_TRUE(fs::exists(folder_ / "a" / "best.nib"));
}

TEST_F(Training, AnAverageIsNotTheLastIterate) {
  Recipe recipe = quick();
  recipe.averaging.start = 2;
  const TrainResult result = train(recipe, options("a"));
  ASSERT_TRUE(result.unaveraged_test);
  EXPECT_NE(result.unaveraged_test->loss, result.test->loss);
}

TEST_F(Training, LearnsARegression) {
  // Five numbers, and their sum and difference of two as targets.
  fs::create_directories(folder_ / "data");
  std::ofstream(folder_ / "net.toml")
      << "input = [5]\nlayers = [{op=\"linear\", features=2, bias=true}, {op=\"squared_error\"}]\n";
  Tensor features(DType::f32, {256, 5});
  Tensor targets(DType::f32, {256, 2});
  for (std::size_t i = 0; i < 256; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      const float x = static_cast<float>((i * 37 + k * 11) % 17) / 8.0F - 1.0F;
      features.as<float>()[i * 5 + k] = x;
      sum += x;
    }
    targets.as<float>()[i * 2] = sum;
    targets.as<float>()[i * 2 + 1] = features.as<float>()[i * 5] - features.as<float>()[i * 5 + 1];
  }
  write_npy(folder_ / "data" / "images.npy", features.view());
  write_npy(folder_ / "data" / "targets.npy", targets.view());
  Recipe recipe = quick();
  recipe.network = load_network((folder_ / "net.toml").string());
  recipe.data = (folder_ / "data").string();
  recipe.epochs = 60;
  recipe.batch = 16;
  recipe.validation = 56;
  recipe.optimizer = {.kind = OptimizerKind::adam, .rate = 0.02};
  const TrainResult result = train(recipe, options("a"));
  EXPECT_LT(result.validation->loss, 1e-3);
  EXPECT_FALSE(result.test);
}

}  // namespace
}  // namespace nibble::inline float_training
