// SPDX-License-Identifier: Apache-2.0
// Whole runs on a GPU, batch norms and averaged weights included: the weights, the calibrated
// models and the evaluations of the CPU, with any number of ranks, and resumed from either device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backend/cuda/register.h"
#include "cuda/test_memory.h"
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

// As an MPI that takes pointers to a GPU's memory: whatever memory it is given it reaches itself.
class FarReachingRank final : public Communicator {
 public:
  FarReachingRank(int rank, Assembly& meeting) : near_(rank, meeting) {}

  int rank() const override { return near_.rank(); }
  int size() const override { return near_.size(); }
  bool takes_device_memory() const override { return true; }
  void sum(std::span<std::int32_t> values) override {
    reach(values, [&](auto here) { near_.sum(here); });
  }
  void sum(std::span<std::int64_t> values) override {
    reach(values, [&](auto here) { near_.sum(here); });
  }
  void max(std::span<std::int64_t> values) override {
    reach(values, [&](auto here) { near_.max(here); });
  }
  void broadcast(std::span<std::byte> bytes, int root) override { near_.broadcast(bytes, root); }
  void barrier() override { near_.barrier(); }
  std::size_t calls_from_afar() const { return calls_from_afar_; }

 private:
  template <class Number, class Join>
  void reach(std::span<Number> values, const Join& join) {
    cudaPointerAttributes attributes{};
    cuda::check("test", cudaPointerGetAttributes(&attributes, values.data()));
    if (attributes.type == cudaMemoryTypeDevice) ++calls_from_afar_;
    std::vector<Number> here(values.size());
    cuda::check("test",
                cudaMemcpy(here.data(), values.data(), values.size_bytes(), cudaMemcpyDefault));
    join(std::span(here));
    cuda::check("test",
                cudaMemcpy(values.data(), here.data(), values.size_bytes(), cudaMemcpyDefault));
    cuda::check("test", cudaDeviceSynchronize());
  }

  ThreadRank near_;
  std::size_t calls_from_afar_ = 0;
};

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

  // On the GPU, by ranks that are looked at in the end.
  template <class Rank, class Look>
  std::vector<TrainResult> train_in_ranks(const Look& look) {
    constexpr int kRanks = 3;
    Assembly meeting(kRanks);
    std::vector<TrainResult> results(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        Rank communicator(rank, meeting);
        results[static_cast<std::size_t>(rank)] =
            train("cuda", {.folder = folder_ / "ranks", .communicator = &communicator});
        look(communicator);
      });
    }
    for (std::thread& each : threads) each.join();
    return results;
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

TEST_F(DeviceNormTraining, KeepsTheStatisticsOfTheCpu) {
  recipe_.options.statistics = FrozenStatistics::running;
  recipe_.average_from = 0;
  const TrainResult wanted = train("cpu");
  expect_equal(train("cuda"), wanted);
  const fs::path folder = folder_ / "there and back";
  train("cpu", {.folder = folder, .stop_after = 1});
  train("cuda", {.folder = folder, .mode = RunFolderMode::resume, .stop_after = 2});
  expect_equal(train("cpu", {.folder = folder, .mode = RunFolderMode::resume}), wanted);
  recipe_.epochs = 1;
  EXPECT_NO_THROW(train("check(cpu,cuda)"));
  const TrainResult first = train("cpu");
  for (const TrainResult& each : train_in_ranks<ThreadRank>([](const ThreadRank&) {}))
    expect_equal(each, first);
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
  for (const TrainResult& each : train_in_ranks<ThreadRank>([](const ThreadRank&) {}))
    expect_equal(each, wanted);
}

TEST_F(DeviceNormTraining, HandsItsOwnMemoryToRanksThatTakeIt) {
  recipe_.epochs = 1;
  recipe_.average_from = 0;
  const TrainResult wanted = train("cpu");
  const auto look = [](const FarReachingRank& rank) { EXPECT_GT(rank.calls_from_afar(), 0U); };
  for (const TrainResult& each : train_in_ranks<FarReachingRank>(look)) expect_equal(each, wanted);
}

}  // namespace
}  // namespace nibble::inline integer_training
