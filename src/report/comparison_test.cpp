// SPDX-License-Identifier: Apache-2.0
// Tests of runs side by side.
#include "report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_test_support.h"
#include "report/run_record.h"

namespace nibble::inline report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RunRecord run_of(const std::string& name, const std::string& seed, const std::string& hash) {
  RunRecord run = {.path = "runs/" + name, .name = name};
  run.settings = {{"network", "lenet"}, {"seed", seed}};
  run.epochs = {{.epoch = 1, .train_loss = 2.0, .val_top1 = 0.5, .seconds = 4},
                {.epoch = 2, .train_loss = 1.0, .val_top1 = 0.25, .seconds = 5}};
  if (!hash.empty()) {
    run.summary = SummaryRecord{.epochs = 2, .seconds = 75, .weights_hash = hash};
    run.summary->test = EvaluationRecord{.top1 = 0.9731, .loss = 0.5};
  }
  return run;
}

TEST(Comparison, SaysWhichSettingsDiffer) {
  std::vector<RunRecord> runs = {run_of("a", "1", "aa"), run_of("b", "2", "bb")};
  runs[1].settings.insert(runs[1].settings.begin() + 1, {"policy.1", "e4m3"});
  const Comparison comparison = compare(runs);
  std::vector<std::string> keys;
  for (const ComparedSetting& row : comparison.settings) {
    keys.push_back(row.key + (row.is_different ? "*" : ""));
  }
  EXPECT_THAT(keys, ElementsAre("network", "policy.1*", "seed*"));
  EXPECT_THAT(comparison.settings[1].values, ElementsAre("", "e4m3"));
}

TEST(Comparison, WeightsAreEqualDifferentOrUnknown) {
  const auto weights = [](const std::string& a, const std::string& b) {
    return compare({run_of("a", "1", a), run_of("b", "1", b)}).weights;
  };
  EXPECT_EQ(weights("11", "11"), Comparison::Weights::equal);
  EXPECT_EQ(weights("11", "12"), Comparison::Weights::different);
  EXPECT_EQ(weights("11", ""), Comparison::Weights::unknown);
  EXPECT_EQ(weights("", ""), Comparison::Weights::unknown);
}

TEST(Comparison, TheTableShowsDifferencesResultsAndWeights) {
  const std::string text = comparison_table({run_of("first", "1", "aa"), run_of("b", "22", "bb")});
  EXPECT_EQ(text,
            "                first       b\n"
            "seed            1           22\n"
            "\n"
            "test top-1      97.31 %     97.31 %\n"
            "test loss       0.5000      0.5000\n"
            "best val top-1  50.00 %     50.00 %\n"
            "train loss      1.0000      1.0000\n"
            "epochs          2           2\n"
            "time            1 min 15 s  1 min 15 s\n"
            "weights hash    aa          bb\n"
            "\n"
            "1 settings agree; the weights are different\n");
}

TEST(Comparison, OfMoreRunsItSaysWhoSharesTheWeights) {
  const std::string text =
      comparison_table({run_of("a", "1", "x"), run_of("b", "1", "y"), run_of("c", "1", "x")});
  EXPECT_THAT(text, HasSubstr("none differs; the weights are equal in a, c\n"));
  EXPECT_THAT(comparison_table({run_of("a", "1", "x"), run_of("b", "1", "x")}),
              HasSubstr("equal, bit for bit"));
}

TEST(Comparison, AnUnfinishedRunTellsOfItsLastEpoch) {
  const std::string text = comparison_table({run_of("a", "1", ""), run_of("b", "2", "bb")});
  EXPECT_THAT(text, HasSubstr("train loss      1.0000 "));
  EXPECT_THAT(text, HasSubstr("time            9.0 s "));
  EXPECT_THAT(text, HasSubstr("weights hash    -  "));
  EXPECT_THAT(text, HasSubstr("unknown: not every run has ended"));
}

TEST(Comparison, HostileNamesDoNotReachTheTerminal) {
  RunRecord run = run_of("a\x1b[31m", "1", "aa");
  EXPECT_THAT(comparison_table({run, run_of("b", "2", "bb")}), Not(HasSubstr("\x1b")));
}

TEST(Comparison, EqualNamesGiveWayToPaths) {
  std::vector<RunRecord> runs = {run_of("a", "1", "x"), run_of("a", "1", "x")};
  runs[1].path = "other/a";
  EXPECT_THAT(distinct_names(runs), ElementsAre("runs/a", "other/a"));
  runs[1].path = "runs/a";
  EXPECT_THAT(distinct_names(runs), ElementsAre("runs/a", "runs/a (2)"));
}

TEST(Results, TimesAreShort) {
  EXPECT_EQ(shown_time(0.25), "0.2 s");
  EXPECT_EQ(shown_time(3599.6), "1 h 0 min");
  EXPECT_EQ(shown_time(200), "3 min 20 s");
  EXPECT_EQ(shown_time(kAbsent), "");
  EXPECT_EQ(shown_time(1e300), "for ever");
}

}  // namespace
}  // namespace nibble::inline report
