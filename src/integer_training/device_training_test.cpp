// SPDX-License-Identifier: Apache-2.0
// Runs on a GPU: averages, frozen models, evaluations and checkpoints are those of the CPU. Engines
// of engine_answers_test.cpp run there, too.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/cuda/register.h"
#include "integer_step/choose_place.h"
#include "integer_training/integer_run_test_support.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kSteps = 50;
constexpr std::string_view kNetwork = R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "a1" },
  { op = "conv2d", name = "b", channels = 24, kernel = 3, padding = 1 },
  { op = "relu" }, { op = "max_pool", kernel = 2, stride = 2 },
  { op = "flatten" }, { op = "dropout" },
  { op = "linear", name = "c", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
])";

class DeviceTraining : public ::testing::Test {
 protected:
  DeviceTraining() : data_(made_up_data({8, 8, 3}, 300, 10)) {
    register_cuda_backend();
    recipe_.network = parse_network(kNetwork, "test");
    recipe_.network.class_names = data_.train.class_names;
    recipe_.batch = 19;
    recipe_.epochs = 5;
    recipe_.augment = {.padding = 1, .has_flip = true};
    recipe_.mu = parse_mu("5,4@2,3@4");
    recipe_.average_from = 3;
    recipe_.calibration = 70;
  }
  void TearDown() override { unsetenv("NIBBLE_CUDA_DATA"); }

  IntegerRecipe on(const std::string& device) const {
    IntegerRecipe recipe = recipe_;
    recipe.options.device = device;
    return recipe;
  }

  TrainingData data_;
  IntegerRecipe recipe_;
};

TEST_F(DeviceTraining, WeightsAndAveragesAreThoseOfTheCpu) {
  for (const int fraction_bits : {0, 6}) {
    recipe_.options.update =
        ShiftUpdate{.fraction_bits = fraction_bits, .momentum = 2 * fraction_bits};
    const auto expected = train_made_up(on("cpu"), data_, kSteps);
    ASSERT_EQ(expected.size(), 2u);
    EXPECT_EQ(train_made_up(on("cuda"), data_, kSteps), expected);
    EXPECT_EQ(train_made_up(on("cuda"), data_, kSteps, 37), expected);
  }
}

// As --freeze does: two layers stay as they began, the other moves.
TEST_F(DeviceTraining, FrozenLayersStayAndTheOthersMoveAsOnTheCpu) {
  const auto free = train_made_up(on("cpu"), data_, kSteps);
  recipe_.options.frozen = {"a", "b"};
  const auto expected = train_made_up(on("cpu"), data_, kSteps);
  EXPECT_NE(expected, free);
  EXPECT_EQ(train_made_up(on("cuda"), data_, kSteps), expected);
  EXPECT_NO_THROW(train_made_up(on("check(cpu,cuda)"), data_, 3));
}

TEST_F(DeviceTraining, CheckpointsTravelBetweenDevices) {
  const auto expected = train_made_up(on("cpu"), data_, kSteps);
  auto learner = std::make_unique<IntegerLearner>(on("cpu"), data_, nullptr);
  const char* devices[] = {"cuda", "cpu", "cuda", "cpu"};
  for (const char* device : devices) {
    take_steps(*learner, data_, recipe_.batch, 10, kSteps);
    const Checkpoint checkpoint = checkpoint_of(*learner);
    learner = std::make_unique<IntegerLearner>(on(device), data_, nullptr);
    learner->take_state(checkpoint);
  }
  take_steps(*learner, data_, recipe_.batch, kSteps - learner->steps(), kSteps);
  EXPECT_EQ(hashes_of(*learner), expected);
}

TEST_F(DeviceTraining, EvaluationsAreThoseOfTheCpu) {
  const Dataset test = made_up_pictures({8, 8, 3}, 2100, 10);  // several large batches, one short
  IntegerLearner cpu(on("cpu"), data_, nullptr);
  IntegerLearner gpu(on("cuda"), data_, nullptr);
  for (int epoch = 0; epoch < 3; ++epoch) {  // weights change, memory stays
    take_steps(cpu, data_, recipe_.batch, 10, kSteps);
    take_steps(gpu, data_, recipe_.batch, 10, kSteps);
    const Model model = cpu.snapshot();
    ASSERT_EQ(weights_hash(gpu.snapshot()), weights_hash(model));
    const Evaluation expected = cpu.evaluate(model, test);
    const Evaluation got = gpu.evaluate(gpu.snapshot(), test);
    EXPECT_EQ(got.images, 2100);
    EXPECT_EQ(got.loss, expected.loss);
    EXPECT_EQ(got.classes->correct(), expected.classes->correct());
    EXPECT_EQ(gpu.more(model, test)[0].evaluation.loss, cpu.more(model, test)[0].evaluation.loss);
  }
}

TEST_F(DeviceTraining, DataThatIsStreamedGivesTheSameWeights) {
  const auto expected = train_made_up(on("cpu"), data_, kSteps);
  setenv("NIBBLE_CUDA_DATA", "stream", 1);
  EXPECT_EQ(train_made_up(on("cuda"), data_, kSteps), expected);
}

TEST_F(DeviceTraining, ATraceNamesKernelsAndCopiesAndChangesNothing) {
  const auto traced = [&](const std::string& device, StepTrace* trace) {
    IntegerLearner learner(on(device), data_, nullptr);
    take_steps(learner, data_, recipe_.batch, 8, kSteps);
    std::vector<std::int32_t> indices(data_.indices.begin(), data_.indices.begin() + 19);
    learner.step({.indices = indices, .position = {8, 10, 5}, .trace = trace});
    take_steps(learner, data_, recipe_.batch, 8, kSteps);
    return hashes_of(learner);
  };
  StepTrace trace;
  EXPECT_EQ(traced("cuda", &trace), traced("cpu", nullptr));
  std::int64_t kernels = 0;
  std::int64_t copies = 0;
  bool has_layer = false;
  for (const TraceSpan& each : trace.spans()) {
    EXPECT_LE(each.begin, each.end) << each.name;
    EXPECT_GE(each.begin, 0) << each.name;
    if (each.track != "GPU") continue;
    const bool is_copy = each.name.find("copy ") != std::string::npos;
    (is_copy ? copies : kernels) += 1;
    if (is_copy) {
      EXPECT_GT(std::stoll(each.details.at("bytes")), 0) << each.name;
      EXPECT_TRUE(each.details.contains("direction") && each.details.contains("memory"));
    }
    has_layer = has_layer || each.name.starts_with("b weight gradient: ");
  }
  EXPECT_GT(kernels, 20);
  EXPECT_GE(copies, 2);
  EXPECT_TRUE(has_layer);
  EXPECT_GT(trace.busy_of("GPU"), 0);
  EXPECT_LE(trace.busy_of("GPU"), trace.length_of("GPU"));
}

TEST_F(DeviceTraining, ATraceOfAPlacedStepHasCopiesBothWays) {
  choose_place("b=cuda, c.update=cuda", recipe_.options);
  for (const char* wire : {"pinned", "pageable"}) {
    setenv("NIBBLE_CUDA_WIRE", wire, 1);
    IntegerLearner learner(recipe_, data_, nullptr);
    take_steps(learner, data_, recipe_.batch, 3, kSteps);
    std::vector<std::int32_t> indices(data_.indices.begin(), data_.indices.begin() + 19);
    StepTrace trace;
    learner.step({.indices = indices, .position = {3, 10, 5}, .trace = &trace});
    unsetenv("NIBBLE_CUDA_WIRE");
    std::map<std::string, std::int64_t> bytes;
    for (const TraceSpan& each : trace.spans()) {
      EXPECT_LE(each.begin, each.end) << each.name;
      if (!each.track.starts_with("GPU copies")) continue;
      EXPECT_EQ(each.details.at("memory"), wire);
      EXPECT_TRUE(each.track.ends_with(each.details.at("direction"))) << each.track;
      bytes[each.name] += std::stoll(each.details.at("bytes"));
    }
    EXPECT_GE(bytes["send a1.value"], 19 * 8 * 8 * 8);
    EXPECT_GE(bytes["send b.value"], 19 * 8 * 8 * 24);
  }
}

}  // namespace
}  // namespace nibble::inline integer_training
