// SPDX-License-Identifier: Apache-2.0
// Tests of scores.
#include "loadgen/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/test_support.h"

namespace nibble::inline loadgen {
namespace {

constexpr std::array<std::int32_t, 3> kLabels = {7, 1, 2};

TEST(Scores, CountFirstClassesAndFive) {
  const Score score =
      score_of({{0, {7, 0, 1, 2, 3}}, {1, {0, 2, 3, 4, 1}}, {2, {9, 8, 7, 6, 5}}}, kLabels);
  EXPECT_EQ(score.answered, 3);
  EXPECT_EQ(score.top1, 1);
  EXPECT_EQ(score.top5, 2);
}

TEST(Scores, HaveNoTopFiveOfSingleClasses) {
  const Score score = score_of({{0, {7}}, {2, {2}}}, kLabels);
  EXPECT_EQ(score.samples, 3);
  EXPECT_EQ(score.answered, 2);
  EXPECT_EQ(score.share(), 1);
  EXPECT_EQ(score.top5, std::nullopt);
}

TEST(Scores, RefuseALogOfOtherData) {
  EXPECT_EQ(error_of([] {
              score_of({{3, {0}}}, kLabels);
            }),
            "[loadgen score] sample: got 3, expected 0 to 2, what the data has");
}

TEST(Scores, TakeLabelsOfAListWhoseFilesAreNotThere) {
  const TemporaryFolder folder;
  folder.put("val_map.txt", "a.JPEG 3\nb.JPEG 1\n");
  EXPECT_EQ(labels_of(folder.path().string(), "test"), (std::vector<std::int32_t>{3, 1}));
  folder.put("b.JPEG.npy", "");
  EXPECT_EQ(labels_of(folder.path().string(), "test"), (std::vector<std::int32_t>{1}));
}

TEST(Scores, TakeLabelsThatARunKept) {
  const TemporaryFolder folder;
  EXPECT_EQ(labels_of_run(folder.path()), std::nullopt);
  folder.put(kRunLabels, "3\n0\n1\n");
  EXPECT_EQ(labels_of_run(folder.path()), (std::vector<std::int32_t>{3, 0, 1}));
  folder.put(kRunLabels, "3\nx\n");
  EXPECT_THAT(error_of([&] { labels_of_run(folder.path()); }),
              testing::HasSubstr("got something else behind line 1, expected a label a line"));
  folder.put(kRunLabels, "-1\n-1\n");
  EXPECT_THAT(error_of([&] { labels_of_run(folder.path()); }),
              testing::HasSubstr("got no labels, expected a run on data that has them"));
}

TEST(Scores, CompareLogs) {
  const LogAgreement agreement = agreement_of({{0, {7}}, {1, {2}}, {5, {1}}}, {{0, 7}, {1, 1}});
  EXPECT_EQ(agreement.compared, 2);
  EXPECT_EQ(agreement.agreed, 1);
}

}  // namespace
}  // namespace nibble::inline loadgen
