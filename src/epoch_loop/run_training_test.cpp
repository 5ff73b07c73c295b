// SPDX-License-Identifier: Apache-2.0
// The loop with a learner whose weights are sums of what it was shown.
#include "epoch_loop/run_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/test_support.h"
#include "core/warning.h"
#include "epoch_loop/run_settings_text.h"
#include "epoch_loop/test_thread_ranks.h"
#include "nibble/core/error.h"
#include "nibble/graph/network_text.h"
#include "run_folder/test_checkpoint.h"

namespace nibble::inline epoch_loop {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// All that a test wants to know of a learner's life.
struct Diary {
  std::vector<double> rows;  // losses that it saw
  std::int64_t evaluations = 0;
  std::int64_t observations = 0;
};

class SumLearner final : public Learner {
 public:
  SumLearner(const RunSettings& settings, Diary& diary, std::int64_t raise_at)
      : settings_(settings), diary_(diary), raise_at_(raise_at) {}

  StepResult step(const StepPlan& plan) override {
    EXPECT_EQ(plan.position.step, steps_);
    for (std::size_t i = 0; i < plan.indices.size(); ++i)
      sum_ += plan.indices[i] * static_cast<std::int64_t>(i + 1) * (steps_ + 1) % 1009;
    if (plan.observation != nullptr) {
      ++diary_.observations;
      plan.observation->layers.push_back({.epoch = plan.epoch + 1, .layer = "all"});
    }
    if (++steps_ == raise_at_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // other ranks have looked
      std::raise(SIGINT);
    }
    return {.loss_sum = static_cast<double>(plan.indices.size()), .correct = 1};
  }
  std::int64_t steps() const override { return steps_; }
  double rate() const override { return 0.5; }
  void end_epoch(std::int64_t) override { ++epochs_; }
  void see(const EpochRow& row) override { diary_.rows.push_back(row.val_loss.value_or(-1)); }
  Model snapshot() const override {
    Model model{settings_.network, {}};
    for (const Parameter& each : parameters_of(model.network)) {
      model.parameters.emplace_back(DType::f32, each.shape);
      std::ranges::fill(model.parameters.back().as<float>(), static_cast<float>(sum_));
    }
    return model;
  }
  // The loss falls for three epochs.
  Evaluation evaluate(const Model&, const Dataset& data) const override {
    ++diary_.evaluations;
    const double loss = epochs_ <= 3 ? 1.0 / static_cast<double>(epochs_) : 1.0;
    return {.images = data.size(), .loss = loss, .classes = Classification(10)};
  }
  std::string kind() const override { return "sums"; }
  std::string settings_json() const override { return run_settings_json(settings_, "{}", "{}"); }
  Origin origin() const override { return {{"policy", "sums"}}; }
  void put_state(Words& words, std::vector<NamedTensorView>&) const override {
    put_integer(words, "sum", sum_);
    put_integer(words, "steps", steps_);
    put_integer(words, "epochs", epochs_);
  }
  void take_state(const Checkpoint& checkpoint) override {
    sum_ = integer_word(checkpoint.words, "sum");
    steps_ = integer_word(checkpoint.words, "steps");
    epochs_ = integer_word(checkpoint.words, "epochs");
  }
  std::size_t peak_bytes() const override { return 0; }

 private:
  const RunSettings& settings_;
  Diary& diary_;
  std::int64_t raise_at_;
  std::int64_t sum_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t epochs_ = 0;
};

class Loop : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("nibble_loop_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    settings_.network = load_network("mlp-64-32-10");
    settings_.data = "digits";
    settings_.epochs = 4;
    settings_.batch = 100;
    settings_.validation = 137;  // 13 steps an epoch
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrainOptions options(const std::string& name, RunFolderMode mode = RunFolderMode::fresh) const {
    return {.folder = folder_ / name, .mode = mode, .progress = ProgressStyle::silent};
  }

  TrainResult run(const TrainOptions& options, Diary& diary, std::int64_t raise_at = 0) const {
    return run_training(settings_, options, [&](const RunSettings& settings, const TrainingData&) {
      return std::make_unique<SumLearner>(settings, diary, raise_at);
    });
  }

  // One thread a rank, each with its own result; a signal is raised at rank 1.
  std::vector<TrainResult> run_ranks(int ranks, const TrainOptions& options,
                                     std::vector<Diary>& diaries, std::int64_t raise_at = 0) const {
    Assembly meeting(ranks);
    diaries.assign(static_cast<std::size_t>(ranks), {});
    std::vector<TrainResult> results(diaries.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        ThreadRank communicator(rank, meeting);
        TrainOptions own = options;
        own.communicator = &communicator;
        const auto place = static_cast<std::size_t>(rank);
        results[place] = run(own, diaries[place], rank == 1 ? raise_at : 0);
      });
    }
    for (std::thread& each : threads) each.join();
    return results;
  }

  std::string text(const std::string& path) const {
    std::ifstream in(folder_ / path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
  RunSettings settings_;
};

TEST_F(Loop, LeavesAWholeRunFolder) {
  Diary diary;
  const TrainResult result = run(options("a"), diary);
  EXPECT_TRUE(result.is_complete);
  EXPECT_EQ(result.steps, 52);
  EXPECT_EQ(diary.rows.size(), 4U);
  EXPECT_EQ(diary.observations, 4);
  EXPECT_EQ(diary.evaluations, 4 + 2);  // each epoch; in the end validation and test
  const ModelFile file = read_model(folder_ / "a" / "model.nib");
  EXPECT_EQ(weights_hash(file.model), result.weights_hash);
  EXPECT_EQ(file.origin.at("policy"), "sums");
  EXPECT_EQ(file.origin.at("epoch"), "4");
  for (const char* name : {"settings.json", "epochs.csv", "layers.csv", "summary.json", "best.nib"})
    EXPECT_TRUE(fs::exists(folder_ / "a" / name)) << name;
}

TEST_F(Loop, GoesOnAfterAStopOrAnInterruptAsIfNothingHadBeen) {
  Diary diary;
  const TrainResult whole = run(options("whole"), diary);
  TrainOptions part = options("parts");
  part.stop_after = 1;
  EXPECT_FALSE(run(part, diary).is_complete);
  const TrainResult stopped = run(options("parts", RunFolderMode::resume), diary, 20);
  EXPECT_EQ(stopped.stopped_by, SIGINT);
  EXPECT_EQ(stopped.steps, 20);
  EXPECT_FALSE(fs::exists(folder_ / "parts" / "summary.json"));
  const TrainResult last = run(options("parts", RunFolderMode::resume), diary);
  EXPECT_TRUE(last.is_complete);
  EXPECT_EQ(last.weights_hash, whole.weights_hash);
  EXPECT_EQ(text("parts/layers.csv"), text("whole/layers.csv"));
}

TEST_F(Loop, RefusesACheckpointOfOtherSettings) {
  Diary diary;
  TrainOptions part = options("a");
  part.stop_after = 1;
  run(part, diary);
  settings_.batch = 99;
  try {
    run(options("a", RunFolderMode::resume), diary);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("batch"));
  }
}

TEST_F(Loop, RefusesACheckpointOfOtherDataAndWarnsWhereItCannotKnow) {
  Diary diary;
  TrainOptions part = options("a");
  part.stop_after = 1;
  run(part, diary);
  const fs::path path = checkpoint_in(folder_ / "a");
  // The checkpoint as if its data had another hash, or with none as older versions wrote it.
  const auto with_data_hash = [&](const std::optional<std::string>& hash) {
    change_identity(path, [&](Words& match) {
      match.erase("data_hash");
      match.erase("test_hash");
      if (hash) match["data_hash"] = *hash;
    });
  };
  with_data_hash("0123456789abcdef");
  EXPECT_THAT(error_of([&] { run(options("a", RunFolderMode::resume), diary); }),
              HasSubstr("is of another run: data_hash: got '0123456789abcdef', expected '" +
                        hex(hash_of(load_dataset("digits", Split::train)))));
  with_data_hash(std::nullopt);
  (void)take_warnings();
  EXPECT_TRUE(run(options("a", RunFolderMode::resume), diary).is_complete);
  EXPECT_THAT(take_warnings(), testing::ElementsAre(HasSubstr("could not be checked")));
}

TEST_F(Loop, NothingIsChosenWithoutAValidationSplit) {
  Diary diary;
  settings_.early_stopping.patience = 2;
  settings_.validation = 0;
  EXPECT_THROW(run(options("a"), diary), Error);
}

TEST_F(Loop, AllRanksTakeTheSameStepsAndTheFirstAloneSpeaks) {
  Diary diary;
  settings_.epochs = 20;
  settings_.early_stopping = {.metric = Metric::val_loss, .patience = 2};
  const TrainResult alone = run(options("alone"), diary);
  EXPECT_EQ(alone.epochs, 5);
  std::vector<Diary> diaries;
  const std::vector<TrainResult> results = run_ranks(3, options("ranks"), diaries);
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    SCOPED_TRACE(rank);
    EXPECT_TRUE(results[rank].is_complete);
    EXPECT_EQ(results[rank].epochs, alone.epochs);
    EXPECT_EQ(results[rank].weights_hash, alone.weights_hash);
    EXPECT_EQ(results[rank].best, alone.best);
    EXPECT_EQ(diaries[rank].rows, diary.rows);
    EXPECT_EQ(diaries[rank].evaluations, diary.evaluations);
    EXPECT_EQ(diaries[rank].observations, rank == 0 ? diary.observations : 0);
  }
  EXPECT_EQ(text("ranks/layers.csv"), text("alone/layers.csv"));
}

TEST_F(Loop, AnInterruptOfOneRankStopsAllAfterTheSameStepAndAllResume) {
  Diary diary;
  const TrainResult whole = run(options("whole"), diary);
  std::vector<Diary> diaries;
  const std::vector<TrainResult> stopped = run_ranks(2, options("ranks"), diaries, 20);
  EXPECT_EQ(stopped[0].stopped_by, SIGINT);
  EXPECT_EQ(stopped[1].stopped_by, SIGINT);
  EXPECT_EQ(stopped[0].steps, 20);
  EXPECT_EQ(stopped[1].steps, 20);
  const auto last = run_ranks(2, options("ranks", RunFolderMode::resume), diaries);
  EXPECT_TRUE(last[0].is_complete && last[1].is_complete);
  EXPECT_EQ(last[0].weights_hash, whole.weights_hash);
  EXPECT_EQ(last[1].weights_hash, whole.weights_hash);
}

}  // namespace
}  // namespace nibble::inline epoch_loop
