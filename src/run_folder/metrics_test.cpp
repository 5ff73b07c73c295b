// SPDX-License-Identifier: Apache-2.0
// Tests of the counts of a classifier.
#include "nibble/run_folder/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/test_support.h"
#include "nibble/core/parallel.h"
#include "nibble/core/philox.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;
using Floats = std::vector<float>;
using Labels = std::vector<std::int32_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Classification, CountsAnswers) {
  Classification result(3);
  result.add(Floats{1, 5, 2, 9, 0, 0, 1, 2, 3}, Labels{1, 1, 2});
  EXPECT_EQ(result.images(), 3);
  EXPECT_EQ(result.correct(), 2);
  EXPECT_EQ(result.correct5(), 3);
  EXPECT_EQ(result.top1(), 2.0 / 3);
  EXPECT_EQ(result.confusion(1, 1), 1);
  EXPECT_EQ(result.confusion(1, 0), 1);
  EXPECT_EQ(result.confusion(2, 2), 1);
  EXPECT_EQ(result.confusion(0, 0), 0);
}

TEST(Classification, TiesGoToTheFirst) {
  Classification result(3);
  result.add(Floats{2, 2, 2}, Labels{0});
  EXPECT_EQ(result.correct(), 1);
  result.add(Floats{-0.0F, 0.0F, -1}, Labels{1});
  EXPECT_EQ(result.correct(), 1);
  EXPECT_EQ(result.confusion(1, 0), 1);
}

TEST(Classification, AmongTheBestFiveTiesGoToTheFirst) {
  const Floats equal(7, 1.0F);
  for (std::int32_t label = 0; label < 7; ++label) {
    Classification result(7);
    result.add(equal, Labels{label});
    EXPECT_EQ(result.correct5(), label < 5 ? 1 : 0) << label;
  }
  Classification result(7);
  result.add(Floats{3, 9, 9, 9, 9, 3, 1}, Labels{5});  // class 0 is the fifth
  EXPECT_EQ(result.correct5(), 0);
  result.add(Floats{3, 9, 9, 9, 9, 3, 1}, Labels{0});
  EXPECT_EQ(result.correct5(), 1);
}

TEST(Classification, RowsWithANanAreWrong) {
  Classification result(3);
  result.add(Floats{9, kNan, 0, 1, 2, 9, kNan, kNan, kNan}, Labels{0, 2, 1});
  EXPECT_EQ(result.images(), 3);
  EXPECT_EQ(result.correct(), 1);
  EXPECT_EQ(result.correct5(), 1);
  EXPECT_EQ(result.unanswered(), 2);
  EXPECT_TRUE(std::isnan(result.mean_loss()));
  result.add(Floats{-kInfinity, kInfinity, 0}, Labels{1});
  EXPECT_EQ(result.correct(), 2);
}

TEST(Classification, LossIsTheCrossEntropy) {
  Classification result(2);
  result.add(Floats{0, 0, 1000, 0}, Labels{0, 0});
  EXPECT_EQ(result.mean_loss(), std::log(2.0) / 2);
  EXPECT_NEAR(cross_entropy(Floats{1, 2, 3}, 0), 2.4076059644443806, 1e-15);
  EXPECT_EQ(cross_entropy(Floats{0, 1000}, 0), 1000.0);
}

TEST(Classification, AnotherLossIsAddedAsGiven) {
  Classification result(2);
  result.add(Floats{0, 1, 1, 0}, Labels{1, 1}, std::vector<double>{0.25, 0.5});
  EXPECT_EQ(result.mean_loss(), 0.375);
  EXPECT_EQ(result.correct(), 1);
  EXPECT_THAT(error_of([&] {
                result.add(Floats{0, 1}, Labels{1}, {});
              }),
              HasSubstr("losses: got 0, expected 1"));
}

TEST(Classification, BatchesAndThreadsDoNotMatter) {
  constexpr std::size_t kImages = 3000;
  constexpr std::size_t kClasses = 10;
  Floats logits(kImages * kClasses);
  Labels labels(kImages);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(draw32({.seed = 1}, i)) * 0x1p-29F;
  }
  for (std::size_t i = 0; i < kImages; ++i) labels[i] = static_cast<std::int32_t>(i % kClasses);
  const auto text = [&](std::size_t batch, int threads) {
    set_thread_count(threads);
    Classification result(kClasses);
    for (std::size_t i = 0; i < kImages; i += batch) {
      const std::size_t count = std::min(batch, kImages - i);
      result.add(std::span(logits).subspan(i * kClasses, count * kClasses),
                 std::span(labels).subspan(i, count));
    }
    set_thread_count(0);
    return to_json(result);
  };
  const std::string expected = text(kImages, 1);
  EXPECT_EQ(text(kImages, 3), expected);
  EXPECT_EQ(text(64, 2), expected);
  EXPECT_EQ(text(1, 1), expected);
}

TEST(Classification, WrongInputIsRefusedAndCountsNothing) {
  Classification result(3);
  EXPECT_THAT(error_of([&] {
                result.add(Floats(6), Labels{0, 3});
              }),
              HasSubstr("label of image 1: got 3, expected 0 to 2"));
  EXPECT_THAT(error_of([&] { result.add(Floats(3), Labels{-1}); }), HasSubstr("got -1"));
  EXPECT_THAT(error_of([&] {
                result.add(Floats(5), Labels{0, 1});
              }),
              HasSubstr("logits: got 5, expected 6"));
  EXPECT_THAT(error_of([] { Classification(0); }), HasSubstr("classes: got 0"));
  EXPECT_THAT(error_of([&] { result.confusion(3, 0); }), HasSubstr("got 3, 0"));
  EXPECT_EQ(result.images(), 0);
  EXPECT_EQ(result.top1(), 0.0);
  EXPECT_EQ(result.mean_loss(), 0.0);
}

TEST(Classification, OfVeryManyClassesHasNoMatrix) {
  Classification result(5000);
  EXPECT_FALSE(result.has_confusion());
  result.add(Floats(5000), Labels{0});
  EXPECT_EQ(result.correct(), 1);
  EXPECT_THAT(error_of([&] { result.confusion(0, 0); }), HasSubstr("up to 4096"));
}

TEST(Classification, IsJson) {
  Classification result(2);
  result.add(Floats{0, 1, 1, 0}, Labels{1, 1});
  const std::vector<std::string> names{"cat", "dog"};
  const auto json = nlohmann::json::parse(to_json(result, names));
  EXPECT_EQ(json["images"], 2);
  EXPECT_EQ(json["correct"], 1);
  EXPECT_EQ(json["top1"], 0.5);
  EXPECT_EQ(json["top5"], 1.0);
  EXPECT_EQ(json["confusion"], nlohmann::json::parse("[[0, 0], [1, 1]]"));
  EXPECT_EQ(json["class_names"][1], "dog");
  EXPECT_FALSE(json.contains("unanswered"));
}

}  // namespace
}  // namespace nibble::inline run_folder
