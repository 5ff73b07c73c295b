// SPDX-License-Identifier: Apache-2.0
// Whole runs on a GPU, batch norms and averaged weights included: the weights, the calibrated
// models and the evaluations of the CPU, with any number of ranks, and resumed from either device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backend/cuda/register.h"
#include "epoch_loop/test_thread_ranks.h"
#include "nibble/graph/network_text.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNormed = R"(
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "a", channels = 16, kernel = 3, padding = 1 },
  { op = "batch_norm" }, { op = "relu", name = "r" },
  { op = "conv2d", name = "b", channels = 16, kernel = 3, padding = 1 }, { op = "batch_norm", name = "bn" },
  { op = "add", from = ["bn", "r"] }, { op = "batch_norm" }, { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "conv2d", name = "c", channels = 16, kernel = 3, groups = 16 }, { op = "batch_norm" },
  { op = "flatten" }, { op = "linear", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
])";

class DeviceNormTraining : public ::testing::Test {
 protected:
  DeviceNormTraining()
      : folder_(fs::temp_directory_path() / ("nibble_device_" + std::to_string(::getpid()))) {
    register_cuda_backend();
    fs::remove_all(folder_);
    recipe_.network = parse_network(std::string(kNormed), "normed");
    recipe_.data = "digits";
    recipe_.epochs = 4;
    recipe_.batch = 100;
    set_usual_course(recipe_);
    use_sgd(recipe_);
    recipe_.options.roundings.all.error = ShiftRounding::stochastic;
  }
  ~DeviceNormTraining() override { fs::remove_all(folder_); }

  TrainResult train(const std::string& device, TrainOptions options = {}) {
    IntegerRecipe recipe = recipe_;
    recipe.options.device = device;
    if (options.folder.empty()) options.folder = folder_ / std::to_string(next_++);
    options.progress = ProgressStyle::silent;
    return train_integers(recipe, options);
  }

  static void expect_equal(const TrainResult& one, const TrainResult& other) {
    EXPECT_EQ(one.weights_hash, other.weights_hash);
    EXPECT_EQ(one.test->loss, other.test->loss);
    EXPECT_EQ(one.test->classes->correct(), other.test->classes->correct());
    EXPECT_EQ(one.more[0].evaluation.loss, other.more[0].evaluation.loss);
  }

  fs::path folder_;
  IntegerRecipe recipe_;
  int next_ = 0;
};

TEST_F(DeviceNormTraining, GivesTheRunOfTheCpu) {
  const TrainResult wanted = train("cpu");
  EXPECT_GT(wanted.test->classes->correct(), 300);  // of 360
  expect_equal(train("cuda"), wanted);
  recipe_.average_from = 0;
  expect_equal(train("cuda"), train("cpu"));
}

TEST_F(DeviceNormTraining, IsComparedInEveryOperation) {
  recipe_.epochs = 1;
  recipe_.average_from = 0;
  EXPECT_NO_THROW(train("check(cpu,cuda)"));
}

TEST_F(DeviceNormTraining, GoesOnOnTheOtherDevice) {
  const TrainResult wanted = train("cpu");
  const fs::path folder = folder_ / "there and back";
  train("cpu", {.folder = folder, .stop_after = 1});
  train("cuda", {.folder = folder, .mode = RunFolderMode::resume, .stop_after = 2});
  expect_equal(train("cpu", {.folder = folder, .mode = RunFolderMode::resume}), wanted);
}

TEST_F(DeviceNormTraining, HasAnyNumberOfRanks) {
  recipe_.epochs = 1;
  recipe_.average_from = 0;
  const TrainResult wanted = train("cpu");
  constexpr int kRanks = 3;
  Assembly meeting(kRanks);
  std::vector<TrainResult> results(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank communicator(rank, meeting);
      results[static_cast<std::size_t>(rank)] =
          train("cuda", {.folder = folder_ / "ranks", .communicator = &communicator});
    });
  }
  for (std::thread& each : threads) each.join();
  for (const TrainResult& each : results) expect_equal(each, wanted);
}

}  // namespace
}  // namespace nibble::inline integer_training
