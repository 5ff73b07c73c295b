// SPDX-License-Identifier: Apache-2.0
#include "nibble/float_training/fine_tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/test_support.h"
#include "float_training/test_models.h"
#include "nibble/core/parallel.h"
#include "nibble/float_training/train.h"
#include "nibble/run_folder/interrupt.h"

namespace nibble::inline float_training {
namespace {

using ::testing::HasSubstr;

double top1(const Model& model) {
  return evaluate(model, load_dataset("digits", Split::test)).classes->top1();
}

TEST(FineTune, BringsBackWhatFourBitsLost) {
  const Model before = float_digits();
  const Model start = quantized_digits(before);
  std::vector<FineTunedEpoch> rows;
  const Model model =
      fine_tune(start, load_dataset("digits", Split::train),
                {.epochs = 3,
                 .batch = 32,
                 .optimizer = {.rate = 0.01, .weight_decay = 1e-4},
                 .after_epoch = [&](const FineTunedEpoch& row) { rows.push_back(row); }});
  EXPECT_EQ(model.network, start.network);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].epoch, 3);
  EXPECT_LT(rows[2].loss, rows[0].loss);
  EXPECT_GT(rows[2].top1.value(), 0.9);
  EXPECT_EQ(rows[2].share, 1);
  EXPECT_GT(top1(model), top1(start));
  EXPECT_GT(top1(model), top1(before) - 0.02);
  const std::vector<Parameter> parameters = parameters_of(model.network);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto now = model.parameters[i].as<float>();
    EXPECT_FALSE(std::ranges::equal(now, start.parameters[i].as<float>())) << parameters[i].name;
    if (parameters[i].kind != "step") continue;
    for (const float step : now) EXPECT_GT(step, 0) << parameters[i].name;
  }
}

TEST(FineTune, GivesTheSameWeightsWithAnyNumberOfThreads) {
  const Model start = quantized_digits(float_digits(1));
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    hashes.push_back(weights_hash(fine_tune(start, load_dataset("digits", Split::train),
                                            {.epochs = 1, .augment = {.padding = 1}})));
  }
  set_thread_count(0);
  EXPECT_EQ(hashes[1], hashes[0]);
  EXPECT_EQ(hashes[2], hashes[0]);
}

TEST(FineTune, GoesOnFromItsCheckpointToTheSameWeights) {
  const TemporaryFolder folder;
  const Model start = quantized_digits(float_digits(1));
  const Dataset data = load_dataset("digits", Split::train);
  FineTuneOptions options{.epochs = 3, .augment = {.padding = 1}};
  const std::uint64_t whole = weights_hash(fine_tune(start, data, options));
  options.checkpoint = folder.path() / "checkpoint";
  std::int64_t last = 0;
  // Two signals: one in the second epoch, one in the third.
  options.after_epoch = [&](const FineTunedEpoch& row) {
    EXPECT_EQ(row.epoch, last + 1);
    last = row.epoch;
    if (row.epoch < 3) ::raise(SIGINT);
  };
  for (int i = 0; i < 2; ++i) {
    try {
      fine_tune(start, data, options);
      ADD_FAILURE() << "not interrupted";
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.signal(), SIGINT);
      EXPECT_THAT(interrupted.what(), HasSubstr(options.checkpoint.string()));
    }
  }
  EXPECT_EQ(weights_hash(fine_tune(start, data, options)), whole);
  EXPECT_EQ(last, 3);
  // With everything done nothing is left to train.
  EXPECT_EQ(weights_hash(fine_tune(start, data, options)), whole);
}

TEST(FineTune, EndsWithinABatchAtASignalWithoutACheckpointToo) {
  const Model start = quantized_digits(float_digits(1));
  const Dataset data = load_dataset("digits", Split::train);
  std::int64_t whole = 0;
  FineTuneOptions options{.epochs = 100000, .batch = 8};
  options.after_epoch = [&](const FineTunedEpoch&) { ++whole; };
  options.during_epoch = [&](const FineTunedEpoch& so_far) {
    EXPECT_EQ(so_far.epoch, whole + 1);
    EXPECT_GT(so_far.share, 0);
    EXPECT_LE(so_far.share, 1);
    ::raise(SIGINT);
  };
  try {
    fine_tune(start, data, options);
    ADD_FAILURE() << "not interrupted";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal(), SIGINT);
    EXPECT_THAT(interrupted.what(), HasSubstr("nothing is kept without a checkpoint"));
  }
  EXPECT_EQ(whole, 0);
}

TEST(FineTune, ASignalInTheLastEpochIsNotForgotten) {
  const Model start = quantized_digits(float_digits(1));
  const FineTuneOptions options{.epochs = 1,
                                .after_epoch = [](const FineTunedEpoch&) { ::raise(SIGINT); }};
  EXPECT_THROW(fine_tune(start, load_dataset("digits", Split::train), options), Interrupted);
}

TEST(FineTune, ACheckpointOfOtherDataIsNotTaken) {
  const TemporaryFolder folder;
  const Model start = quantized_digits(float_digits(1));
  Dataset data = load_dataset("digits", Split::train);
  FineTuneOptions options{.epochs = 1, .checkpoint = folder.path() / "checkpoint"};
  const std::uint64_t before = weights_hash(fine_tune(start, data, options));
  data.labels.as<std::int32_t>()[5] = 0;
  EXPECT_NE(weights_hash(fine_tune(start, data, options)), before);
}

TEST(FineTune, ANetworkWithoutALossStaysWithoutOne) {
  Model start = float_digits(1);
  const Dataset data = load_dataset("digits", Split::train);
  const Model with = fine_tune(start, data, {.epochs = 1});
  start.network.nodes.pop_back();
  const Model without = fine_tune(start, data, {.epochs = 1});
  EXPECT_EQ(without.network, start.network);
  for (std::size_t i = 0; i < with.parameters.size(); ++i) {
    EXPECT_TRUE(
        std::ranges::equal(with.parameters[i].as<float>(), without.parameters[i].as<float>()));
  }
}

TEST(FineTune, NoEpochsChangeNothing) {
  const Model start = float_digits(1);
  const Model same = fine_tune(start, load_dataset("digits", Split::train), {.epochs = 0});
  EXPECT_EQ(weights_hash(same), weights_hash(start));
}

TEST(FineTune, RefusesDataThatDoesNotFit) {
  Dataset data = load_dataset("digits", Split::train);
  data.images = Tensor(DType::u8, {data.size(), 4, 4, 4});
  EXPECT_THAT(error_of([&] { fine_tune(float_digits(0), data); }), HasSubstr("8, 8, 1"));
}

}  // namespace
}  // namespace nibble::inline float_training
