// SPDX-License-Identifier: Apache-2.0
// A device that is lost while nobody trains: in calibration, evaluation, averages, checkpoints; or
// while somebody looks on. The run goes on on the CPU, to the same weights, the same figures, the
// same tables and the same checkpoint.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/warning.h"
#include "integer_step/choose_place.h"
#include "integer_training/integer_run_test_support.h"
#include "nibble/core/parallel.h"

namespace nibble::inline integer_training {
namespace {

constexpr std::int64_t kStepsOfCourse = 2;

// How often something was told of.
class CountedTags final : public EventSink {
 public:
  void scalar(std::string_view, std::int64_t, double) override {}
  void histogram(std::string_view, std::int64_t, std::span<const float>) override {}
  void counted_histogram(std::string_view tag, std::int64_t,
                         std::span<const CountedValue>) override {
    ++times[std::string(tag)];
  }
  void text(std::string_view, std::int64_t, std::string_view) override {}
  void flush() override {}

  std::map<std::string, int> times;
};

// What a step that is looked at leaves.
struct Tables {
  std::vector<LayerRow> layers;
  std::vector<IntegerRow> integers;
  std::vector<HistogramRow> histograms;
  std::map<std::string, int> values_and_errors;  // that were told of
  bool operator==(const Tables&) const = default;
};

constexpr std::string_view kSmallNetwork = R"(
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "a", channels = 4, kernel = 3, padding = 1, bias = true },
  { op = "relu" }, { op = "max_pool", kernel = 2 }, { op = "flatten" },
  { op = "linear", name = "b", features = 10 },
  { op = "softmax_cross_entropy" },
])";

constexpr std::string_view kNormedNetwork = R"(
input = [8, 8, 1]
layers = [
  { op = "conv2d", name = "a", channels = 4, kernel = 3, padding = 1 }, { op = "batch_norm" },
  { op = "relu" }, { op = "max_pool", kernel = 2 }, { op = "flatten" },
  { op = "linear", name = "b", features = 10 },
  { op = "softmax_cross_entropy" },
])";

class LostDevices : public ::testing::Test {
 protected:
  LostDevices() : data_(made_up_data({8, 8, 1}, 40, 10)) {
    recipe_.network = parse_network(kSmallNetwork, "test");
    recipe_.network.class_names = data_.train.class_names;
    recipe_.batch = 8;
    recipe_.average_from = 1;
    set_thread_count(1);  // a course has little for several to do
  }
  ~LostDevices() override {
    unsetenv("NIBBLE_PRETEND");
    set_thread_count(0);
  }

  static std::uint64_t hash_of(const Evaluation& evaluation) {
    return static_cast<std::uint64_t>(evaluation.loss * 1e9) +
           static_cast<std::uint64_t>(evaluation.classes->top1() * 1e6);
  }
  static std::uint64_t hash_of(const Checkpoint& checkpoint) {
    Hasher hasher;
    for (const auto& [name, word] : checkpoint.words) hasher.add(std::as_bytes(std::span(word)));
    for (const NamedTensor& each : checkpoint.tensors)
      hasher.add({static_cast<const std::byte*>(each.tensor.data()), each.tensor.bytes()});
    return hasher.value();
  }

  using Told = std::function<void(const std::string& moment)>;
  using Course = std::vector<std::pair<std::string, std::uint64_t>>;

  // What the loop over epochs asks of a learner, each with what it gave. The session's device is
  // lost after so many operations, or the one that evaluates; 0: never.
  Course course(const std::string& place, int of_session, int of_evaluator, const Told& told) {
    IntegerRecipe recipe = recipe_;
    choose_place(place, recipe.options);
    lose_after(of_session);
    IntegerLearner learner(recipe, data_, nullptr);
    if (before_) learner.take_state(*before_);
    lose_after(of_evaluator);
    Course found;
    const auto note = [&](const std::string& moment, const auto& ask) {
      found.emplace_back(moment, ask());
      told(moment);
    };
    note("steps", [&] {
      take_steps(learner, data_, recipe.batch, kStepsOfCourse, 10);
      learner.rest();
      return static_cast<std::uint64_t>(learner.steps());
    });
    note("checkpoint", [&] { return hash_of(checkpoint_of(learner)); });
    note("calibration", [&] { return weights_hash(learner.snapshot()); });
    const Model model = learner.snapshot();
    note("evaluation", [&] { return hash_of(learner.evaluate(model, data_.train)); });
    note("average", [&] { return weights_hash(*learner.average()); });
    note("batch shifts", [&] { return hash_of(learner.more(model, data_.train)[0].evaluation); });
    return found;
  }

  // Every third operation of a device, until one outlives the course: always the same, and said in
  // one line. Returns when it was lost.
  std::set<std::string> moments_of(const std::string& place, int first, bool is_session) {
    const Course wanted = course("cpu", 0, 0, [](const std::string&) {});
    std::set<std::string> moments;
    for (int lost_after = first;; lost_after += 3) {
      SCOPED_TRACE(place + " lost after " + std::to_string(lost_after));
      std::vector<std::string> warnings;
      const Told note = [&](const std::string& moment) {
        for (std::string& each : take_warnings()) {
          moments.insert(moment);
          warnings.push_back(std::move(each));
        }
      };
      take_warnings();
      EXPECT_EQ(course(place, is_session ? lost_after : 0, is_session ? 0 : lost_after, note),
                wanted);
      if (warnings.empty()) return moments;
      EXPECT_EQ(warnings.size(), 1U);
      EXPECT_NE(warnings[0].find("went on on the CPU"), std::string::npos) << warnings[0];
    }
  }

  // A step between others.
  Tables tables(const std::string& place, int lost_after) {
    IntegerRecipe recipe = recipe_;
    choose_place(place, recipe.options);
    lose_after(lost_after);
    IntegerLearner learner(recipe, data_, nullptr);
    const auto take_step = [&](Observation* observation) {
      take_steps(learner, data_, recipe.batch, 1, 10, observation);
    };
    CountedTags tags;
    Observation observation{.events = &tags};
    take_step(nullptr);
    take_step(&observation);
    Tables found{std::move(observation.layers), std::move(observation.integers),
                 std::move(observation.histograms), std::move(tags.times)};
    std::erase_if(found.values_and_errors, [](const auto& each) {
      return each.first.starts_with("weight/") || each.first.starts_with("bias/");
    });
    observation = {};
    take_step(nullptr);
    learner.rest();
    EXPECT_TRUE(observation.histograms.empty());  // it has been told
    return found;
  }

 private:
  static void lose_after(int operations) {
    setenv("NIBBLE_PRETEND", ("lost_after=" + std::to_string(operations)).c_str(), 1);
  }

 protected:
  TrainingData data_;
  IntegerRecipe recipe_;
  std::optional<Checkpoint> before_;  // with which every course begins
};

constexpr int kAfterFirstSnapshot = 40;  // operations: before it there is nothing to go on from

TEST_F(LostDevices, OfTheSessionAreOutlived) {
  for (const std::string place : {"pretend", "b=pretend, a.update=pretend"}) {
    const std::set<std::string> moments = moments_of(place, kAfterFirstSnapshot, true);
    EXPECT_TRUE(moments.contains("steps")) << place;
    EXPECT_TRUE(moments.contains("checkpoint")) << place;
  }
}

// No batch counts twice where steps are made again.
TEST_F(LostDevices, LeaveRunningStatisticsAsTheyWere) {
  recipe_.network = parse_network(kNormedNetwork, "test");
  recipe_.network.class_names = data_.train.class_names;
  use_sgd(recipe_);
  recipe_.options.statistics = FrozenStatistics::running;
  IntegerLearner learner(recipe_, data_, nullptr);
  take_steps(learner, data_, recipe_.batch, 3, 10);
  before_ = checkpoint_of(learner);
  const std::set<std::string> moments = moments_of("pretend", kAfterFirstSnapshot, true);
  EXPECT_TRUE(moments.contains("steps"));
}

TEST_F(LostDevices, OfTheEvaluationAreOutlived) {
  EXPECT_EQ(moments_of("pretend", 1, false),
            (std::set<std::string>{"calibration", "evaluation", "average", "batch shifts"}));
}

TEST_F(LostDevices, LeaveTheTablesOfAnObservedStep) {
  const Tables wanted = tables("cpu", 0);
  EXPECT_GT(wanted.integers.size(), 5U);
  EXPECT_GT(wanted.histograms.size(), 5U);
  EXPECT_EQ(wanted.values_and_errors.at("value/a"), 1);
  for (const std::string place : {"pretend", "b=pretend, a.update=pretend"}) {
    take_warnings();
    for (int lost_after = kAfterFirstSnapshot, losses = 1; losses > 0; ++lost_after) {
      SCOPED_TRACE(place + " lost after " + std::to_string(lost_after));
      EXPECT_EQ(tables(place, lost_after), wanted);
      losses = static_cast<int>(take_warnings().size());
    }
  }
}

}  // namespace
}  // namespace nibble::inline integer_training
