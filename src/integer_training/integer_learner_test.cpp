// SPDX-License-Identifier: Apache-2.0
// The same weights after fifty steps, whatever the instruction set, the threads and the pauses.
#include "integer_training/integer_learner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "core/isa.h"
#include "core/warning.h"
#include "graph/integer_form.h"
#include "integer_step/choose_place.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/core/parallel.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kSteps = 50;

constexpr std::string_view kNetwork = R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, padding = 1, bias = true },
  { op = "relu", name = "a1" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 },
  { op = "add", name = "c", from = ["b", "a1"] }, { op = "relu" },
  { op = "max_pool", kernel = 3, stride = 2, padding = 1 },
  { op = "conv2d", name = "d", channels = 20, kernel = 3, stride = 2 }, { op = "relu6" },
  { op = "flatten" }, { op = "dropout" },
  { op = "linear", name = "e", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
])";

constexpr std::string_view kNormed = R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu", name = "a1" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm", name = "b1" },
  { op = "add", from = ["b1", "a1"] }, { op = "batch_norm", momentum = 0.4 }, { op = "relu" },
  { op = "max_pool", kernel = 2 }, { op = "flatten" }, { op = "linear", features = 10, bias = true },
  { op = "softmax_cross_entropy" },
])";

class IntegerLearners : public ::testing::Test {
 protected:
  IntegerLearners() : data_(made_up_data({8, 8, 3}, 60, 10)) {
    recipe_.network = parse_network(kNetwork, "test");
    recipe_.network.class_names = data_.train.class_names;
    recipe_.batch = 9;
    recipe_.epochs = 5;
    recipe_.augment = {.padding = 1, .has_flip = true};
    recipe_.mu = parse_mu("5,4@2,3@4");
    recipe_.average_from = 4;
  }
  void TearDown() override {
    set_thread_count(0);
    reset_isa();
  }

  // The hashes of all ways to take the same steps: one, where the numbers do not depend on the way.
  std::set<std::vector<std::uint64_t>> all_ways() {
    std::set<std::vector<std::uint64_t>> hashes;
    for (const Isa isa : supported_isas()) {
      set_isa(isa);
      for (const int threads : {1, 2, 3}) {
        if (isa == Isa::reference && threads != 2) continue;  // it is slow
        set_thread_count(threads);
        hashes.insert(train_made_up(recipe_, data_, kSteps, isa == Isa::avx2 ? 0 : 13 * threads));
      }
    }
    return hashes;
  }

  TrainingData data_;
  IntegerRecipe recipe_;
};

TEST_F(IntegerLearners, ComeToTheSameWeightsOnEveryPathWithAnyThreadsAndPauses) {
  const auto exact = all_ways();
  EXPECT_EQ(exact.size(), 1U);
  ASSERT_EQ(exact.begin()->size(), 2U);
  EXPECT_NE((*exact.begin())[0], (*exact.begin())[1]);
  recipe_.seed = recipe_.options.seed = 2;
  EXPECT_FALSE(exact.contains(train_made_up(recipe_, data_, kSteps)));
}

TEST_F(IntegerLearners, SoDoDelayedShifts) {
  recipe_.options.rule = ShiftRule::delayed;
  EXPECT_EQ(all_ways().size(), 1U);
}

TEST_F(IntegerLearners, SoDoOtherRoundingsAndUpdates) {
  recipe_.options.update = ShiftUpdate{.fraction_bits = 6, .momentum = 12, .has_decay = true};
  recipe_.options.roundings.all = {ShiftRounding::stochastic, ShiftRounding::pseudo_stochastic,
                                   ShiftRounding::stochastic};
  recipe_.options.roundings.layers = {{"b", {}}};
  recipe_.options.form = CrossEntropyForm::whole_octaves;
  EXPECT_EQ(all_ways().size(), 1U);
}

// A rate that moves exponents, and an average over such steps.
TEST_F(IntegerLearners, SoDoesTheRuleSgd) {
  use_sgd(recipe_);
  recipe_.rate = 1.5;
  recipe_.weight_decay = 0.01;
  recipe_.schedule = parse_schedule("warmup(1)+onecycle");
  EXPECT_EQ(all_ways().size(), 1U);
  IntegerLearner learner(recipe_, data_, nullptr);
  const Model before = learner.snapshot();
  take_steps(learner, data_, recipe_.batch, kSteps, kSteps);
  const Model after = learner.snapshot();
  bool has_moved = false;
  for (std::size_t i = 0; i < before.network.nodes.size(); ++i) {
    has_moved = has_moved || exponent_of(before.network.nodes[i].weight) !=
                                 exponent_of(after.network.nodes[i].weight);
  }
  EXPECT_TRUE(has_moved);
}

// The statistics of the last weights are those of all batches before.
TEST_F(IntegerLearners, SoDoRunningStatistics) {
  recipe_.network = parse_network(kNormed, "test");
  recipe_.network.class_names = data_.train.class_names;
  use_sgd(recipe_);
  recipe_.options.statistics = FrozenStatistics::running;
  const auto running = all_ways();
  EXPECT_EQ(running.size(), 1U);
  recipe_.options.statistics = FrozenStatistics::calibrated;
  const auto calibrated = train_made_up(recipe_, data_, kSteps);
  EXPECT_NE((*running.begin())[0], calibrated[0]);
  EXPECT_EQ((*running.begin())[1], calibrated[1]);  // the average has none
}

TEST_F(IntegerLearners, HaveNoRunningStatisticsBeforeTheFirstStep) {
  recipe_.network = parse_network(kNormed, "test");
  recipe_.network.class_names = data_.train.class_names;
  use_sgd(recipe_);
  const auto first_model = [&](FrozenStatistics statistics) {
    recipe_.options.statistics = statistics;
    IntegerLearner learner(recipe_, data_, nullptr);
    IntegerLearner resumed(recipe_, data_, nullptr);
    resumed.take_state(checkpoint_of(learner));
    EXPECT_EQ(hashes_of(resumed), hashes_of(learner));
    return hashes_of(learner);
  };
  EXPECT_EQ(first_model(FrozenStatistics::running), first_model(FrozenStatistics::calibrated));
}

TEST_F(IntegerLearners, DependOnWhatACheckpointHolds) {
  recipe_.options.rule = ShiftRule::delayed;
  recipe_.options.update = ShiftUpdate{.fraction_bits = 4, .momentum = 8};
  IntegerLearner learner(recipe_, data_, nullptr);
  take_steps(learner, data_, recipe_.batch, 20, kSteps);
  const Checkpoint whole = checkpoint_of(learner);
  take_steps(learner, data_, recipe_.batch, 10, kSteps);
  const auto wanted = hashes_of(learner);
  const auto resumed = [&](const Checkpoint& checkpoint) {
    IntegerLearner other(recipe_, data_, nullptr);
    other.take_state(checkpoint);
    take_steps(other, data_, recipe_.batch, 10, kSteps);
    return hashes_of(other);
  };
  EXPECT_EQ(resumed(whole), wanted);
  for (const std::string word : {"shift.a.value", "shift.d.error", "steps"}) {
    Checkpoint other = checkpoint_of(learner);
    other = {whole.words, std::move(other.tensors)};
    EXPECT_NE(resumed(other), wanted);  // the tensors of another step
    Checkpoint changed{whole.words, {}};
    for (const NamedTensor& each : whole.tensors) {
      Tensor copy(each.tensor.dtype(), each.tensor.shape());
      std::memcpy(copy.data(), each.tensor.data(), each.tensor.bytes());
      changed.tensors.push_back({each.name, std::move(copy)});
    }
    EXPECT_EQ(resumed(changed), wanted);
    put_integer(changed.words, word, integer_word(whole.words, word) + 1);
    EXPECT_NE(resumed(changed), wanted) << word;
  }
}

TEST_F(IntegerLearners, LearnWhatIsThereToBeLearnedByBothRules) {
  recipe_.network = parse_network(R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 16, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "max_pool", kernel = 2 }, { op = "flatten" },
  { op = "linear", name = "e", features = 4 },
  { op = "softmax_cross_entropy" },
])",
                                  "test");
  data_ = made_up_data({8, 8, 3}, 200, 4);
  recipe_.network.class_names = data_.train.class_names;
  recipe_.augment = {};
  recipe_.batch = 20;
  const auto share_learned = [&] {
    IntegerLearner learner(recipe_, data_, nullptr);
    take_steps(learner, data_, recipe_.batch, kSteps, kSteps);
    return learner.evaluate(learner.snapshot(), data_.train).classes->top1();
  };
  EXPECT_GT(share_learned(), 0.9);
  use_sgd(recipe_);
  recipe_.rate = 0.2;
  EXPECT_GT(share_learned(), 0.9);
}

TEST_F(IntegerLearners, GoOnUnderAnotherPlacementToTheSameWeights) {
  constexpr std::int64_t kFew = 12;
  const auto wanted = train_made_up(recipe_, data_, kFew);
  std::optional<Checkpoint> checkpoint;
  for (const std::string_view place : {"b=pretend, *.update=cpu", "reference, e=cpu", "cpu"}) {
    SCOPED_TRACE(place);
    IntegerRecipe recipe = recipe_;
    choose_place(place, recipe.options);
    IntegerLearner learner(recipe, data_, nullptr);
    if (checkpoint) learner.take_state(*checkpoint);
    take_steps(learner, data_, recipe.batch, 4, kFew);
    learner.rest();
    checkpoint = checkpoint_of(learner);
    if (learner.steps() == kFew) {
      EXPECT_EQ(hashes_of(learner), wanted);
    }
  }
}

// Pictures on a disk, which the examples that freeze shifts are read from a few at a time.
class StreamedPictures final : public ImageSource {
 public:
  explicit StreamedPictures(const Images& all) : all_(all) {}
  const Shape& shape() const override { return all_.shape(); }
  void for_each(std::span<const std::int32_t> indices, const Visit& visit) const override {
    most_at_once_ = std::max(most_at_once_, indices.size());
    all_.for_each(indices, visit);
  }
  std::shared_ptr<const ImageSource> chosen(std::span<const std::int32_t>) const override {
    return nullptr;
  }
  std::uint64_t hash() const override { return 1; }
  std::size_t most_at_once() const { return most_at_once_; }

 private:
  const Images& all_;
  mutable std::size_t most_at_once_ = 0;
};

TEST_F(IntegerLearners, FreezeStreamedPicturesInPartsAndTheSame) {
  constexpr std::int64_t kFew = 12;
  recipe_.network = parse_network(R"(
input = [8, 8, 3]
layers = [
  { op = "conv2d", name = "a", channels = 8, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "an" }, { op = "relu" },
  { op = "conv2d", name = "b", channels = 8, kernel = 3, stride = 2, bias = true },
  { op = "batch_norm", name = "bn" }, { op = "relu" }, { op = "flatten" },
  { op = "linear", name = "e", features = 10 },
  { op = "softmax_cross_entropy" },
])",
                                  "test");
  recipe_.network.class_names = data_.train.class_names;
  use_sgd(recipe_);
  const auto wanted = train_made_up(recipe_, data_, kFew);
  TrainingData streamed = made_up_data({8, 8, 3}, 60, 10);
  const auto source = std::make_shared<StreamedPictures>(data_.train.images);
  streamed.train.images = Images(source);
  EXPECT_EQ(train_made_up(recipe_, streamed, kFew), wanted);
  EXPECT_EQ(source->most_at_once(), static_cast<std::size_t>(recipe_.batch));
}

// At any moment of a step, before a second snapshot and behind it, and with the same average.
TEST_F(IntegerLearners, OutliveTheirDevice) {
  constexpr std::int64_t kFew = 70;
  const auto wanted = train_made_up(recipe_, data_, kFew);
  for (const auto& [place, moments] : std::map<std::string, std::vector<int>>{
           {"pretend", {150, 151, 157, 999, 1000, 3600}},
           {"b=pretend, e.update=pretend", {150, 151, 157, 999, 1000}}}) {
    for (const int lost_after : moments) {
      SCOPED_TRACE(place + " lost after " + std::to_string(lost_after));
      setenv("NIBBLE_PRETEND", ("lost_after=" + std::to_string(lost_after)).c_str(), 1);
      IntegerRecipe recipe = recipe_;
      choose_place(place, recipe.options);
      take_warnings();
      IntegerLearner learner(recipe, data_, nullptr);
      take_steps(learner, data_, recipe.batch, kFew, kFew);
      learner.rest();
      unsetenv("NIBBLE_PRETEND");
      EXPECT_EQ(hashes_of(learner), wanted);
      const std::vector<std::string> told = take_warnings();
      ASSERT_EQ(told.size(), 1U);
      EXPECT_NE(told[0].find("went on on the CPU"), std::string::npos);
    }
  }
}

TEST_F(IntegerLearners, ATraceNamesEveryLayerAndPass) {
  IntegerLearner learner(recipe_, data_, nullptr);
  StepTrace trace;
  const std::vector<std::int32_t> indices = {0, 1, 2, 3};
  learner.step({.indices = indices, .position = {0, 10, 5}, .trace = &trace});
  std::set<std::string> names;
  for (const TraceSpan& each : trace.spans()) {
    EXPECT_EQ(each.track, StepTrace::kHost);
    names.insert(each.name);
  }
  for (const char* name :
       {"batch", "a forward", "c forward", "loss input error", "e input error", "e weight gradient",
        "e.bias update", "a.weight update", "wait for answers"})
    EXPECT_TRUE(names.contains(name)) << name;
  const std::size_t count = trace.spans().size();
  learner.step({.indices = indices, .position = {1, 10, 5}});
  EXPECT_EQ(trace.spans().size(), count);  // the next step tells nobody
}

// What the host does, what the device does, and every copy with its bytes, on one clock.
TEST_F(IntegerLearners, ATraceOfSeveralDevicesHasItsCopies) {
  choose_place("b=pretend, e.update=pretend", recipe_.options);
  IntegerLearner learner(recipe_, data_, nullptr);
  const std::vector<std::int32_t> indices = {0, 1, 2, 3};
  learner.step({.indices = indices, .position = {0, 10, 5}});
  StepTrace trace;
  learner.step({.indices = indices, .position = {1, 10, 5}, .trace = &trace});
  std::map<std::string, std::set<std::string>> names;
  std::int64_t copied = 0;
  for (const TraceSpan& each : trace.spans()) {
    EXPECT_LE(each.begin, each.end) << each.name;
    names[each.track].insert(each.name);
    if (!each.track.starts_with("pretend copies")) continue;
    EXPECT_EQ(each.details.at("memory"), "pinned");
    EXPECT_TRUE(each.track.ends_with(each.details.at("direction")));
    copied += std::stoll(each.details.at("bytes"));
  }
  EXPECT_GT(copied, 0);
  EXPECT_TRUE(names["pretend"].contains("b forward"));
  EXPECT_TRUE(names["pretend copies down"].contains("send b.value"));
  EXPECT_TRUE(names["pretend copies up"].contains("bring in e.weight.gradient"));
  for (const char* name : {"send b.value", "wait for b.value", "bring in b.value", "b forward",
                           "wait for e.weight", "e.weight update"})
    EXPECT_TRUE(names[StepTrace::kHost].contains(name)) << name;
}

}  // namespace
}  // namespace nibble::inline integer_training
