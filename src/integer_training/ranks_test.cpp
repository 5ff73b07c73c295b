// SPDX-License-Identifier: Apache-2.0
// Ranks, here threads, come to the weights of one alone; some of them may have no image of a batch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "epoch_loop/test_thread_ranks.h"
#include "nibble/core/parallel.h"
#include "nibble/graph/network_text.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {
namespace {

namespace fs = std::filesystem;

class Ranks : public ::testing::Test {
 protected:
  Ranks() : folder_(fs::temp_directory_path() / ("nibble_ranks_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    recipe_.network = load_network("convnet-8x8");
    recipe_.data = "digits";
    recipe_.epochs = 1;
    set_usual_course(recipe_);
    set_thread_count(1);
  }
  ~Ranks() override {
    fs::remove_all(folder_);
    set_thread_count(0);
  }

  // The weights; `test_` is what all ranks found together.
  std::uint64_t train(int ranks) {
    Assembly meeting(ranks);
    std::vector<TrainResult> results(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        ThreadRank communicator(rank, meeting);
        results[static_cast<std::size_t>(rank)] =
            train_integers(recipe_, {.folder = folder_ / std::to_string(next_),
                                     .progress = ProgressStyle::silent,
                                     .communicator = &communicator});
      });
    }
    for (std::thread& each : threads) each.join();
    ++next_;
    for (const TrainResult& each : results) {
      EXPECT_EQ(each.weights_hash, results[0].weights_hash);
      expect_equal(*each.test, *results[0].test);
      expect_equal(each.more[0].evaluation, results[0].more[0].evaluation);
    }
    test_ = *results[0].test;
    return results[0].weights_hash;
  }

  static void expect_equal(const Evaluation& one, const Evaluation& other) {
    EXPECT_EQ(one.images, other.images);
    EXPECT_EQ(one.loss, other.loss);
    EXPECT_EQ(one.classes->correct(), other.classes->correct());
  }

  fs::path folder_;
  IntegerRecipe recipe_;
  Evaluation test_;
  int next_ = 0;
};

TEST_F(Ranks, MayBeAnyNumber) {
  recipe_.batch = 75;  // a last batch of 12
  const std::uint64_t wanted = train(1);
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(train(ranks), wanted) << ranks;
}

// 360 test images, the last batch of 104: three ranks have uneven parts of it. The best weights are
// read by all of them.
TEST_F(Ranks, EvaluateTogetherAsOneAlone) {
  recipe_.batch = 100;
  recipe_.epochs = 2;
  for (const double validation : {0.0, 137.0}) {
    recipe_.validation = validation;
    train(1);
    const Evaluation wanted = test_;
    for (const int ranks : {2, 3}) {
      train(ranks);
      expect_equal(test_, wanted);
    }
  }
}

TEST_F(Ranks, MayBeMoreThanTheImagesOfTheLastBatch) {
  for (const std::int64_t batch : {718, 359}) {  // 1437: a last batch of one image
    recipe_.batch = batch;
    for (const ShiftRule rule : {ShiftRule::exact, ShiftRule::delayed}) {
      recipe_.options.rule = rule;
      const std::uint64_t wanted = train(1);
      for (const int ranks : {2, 4}) EXPECT_EQ(train(ranks), wanted) << ranks << ", " << batch;
    }
  }
}

TEST_F(Ranks, MayBeAnyNumberUnderTheRuleSgd) {
  use_sgd(recipe_);
  recipe_.rate = 0.3;
  recipe_.batch = 718;
  const std::uint64_t wanted = train(1);
  for (const int ranks : {2, 3}) EXPECT_EQ(train(ranks), wanted) << ranks;
}

TEST_F(Ranks, MayBeAnyNumberWithRunningStatistics) {
  recipe_.network = parse_network(R"(
    input = [8, 8, 1]
    layers = [
      { op = "conv2d", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
      { op = "max_pool", kernel = 2 }, { op = "flatten" }, { op = "linear", features = 10 },
      { op = "softmax_cross_entropy" } ])",
                                  "normed");
  use_sgd(recipe_);
  recipe_.options.statistics = FrozenStatistics::running;
  recipe_.batch = 718;  // a last batch of one image, and of ranks that have none
  const std::uint64_t wanted = train(1);
  for (const int ranks : {2, 3}) EXPECT_EQ(train(ranks), wanted) << ranks;
}

}  // namespace
}  // namespace nibble::inline integer_training
