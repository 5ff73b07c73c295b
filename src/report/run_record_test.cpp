// SPDX-License-Identifier: Apache-2.0
// Tests of run folders: whole, partial, damaged.
#include "report/run_record.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <ctime>

#include "report/html_report.h"
#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class RunRecordTest : public testing::Test {
 protected:
  RunRecordTest() { put("settings.json", R"({"seed": 1})"); }
  void put(const std::string& name, const std::string& text) { folder_.put("run/" + name, text); }
  RunRecord read() const { return read_run(folder_.path() / "run"); }
  // Without the folder.
  std::string error() const {
    std::string text = error_of([&] { read(); });
    const std::string place = folder_.path().string() + "/run";
    const std::size_t at = text.find(place);
    return at == text.npos ? text : text.replace(at, place.size(), "RUN");
  }

  TemporaryFolder folder_;
};

TEST_F(RunRecordTest, SettingsAreFlatAndInOrder) {
  put("settings.json", R"json({"network": "lenet", "started": "2026-01-02", "seed": 7,
    "val": null, "optimizer": {"name": "sgd", "momentum": 0.9}, "steps": [3, 5],
    "policy": [{"role": "weight", "format": "fixed(8,4)"}, {"role": "error", "format": "e5m2"}]})json");
  const RunRecord run = read();
  EXPECT_EQ(run.name, "run");
  EXPECT_EQ(run.started, "2026-01-02");
  EXPECT_THAT(run.settings,
              ElementsAre(Pair("network", "lenet"), Pair("seed", "7"), Pair("val", "null"),
                          Pair("optimizer.name", "sgd"), Pair("optimizer.momentum", "0.9"),
                          Pair("steps", "3, 5"), Pair("policy.1", "role=weight format=fixed(8,4)"),
                          Pair("policy.2", "role=error format=e5m2")));
  EXPECT_EQ(run.setting("optimizer.name"), "sgd");
  EXPECT_EQ(run.setting("absent"), "");
}

TEST_F(RunRecordTest, APartialRunHasWhatItHas) {
  put("epochs.csv", "epoch,step,train_loss,val_top1\n1,10,2.5,\n2,20,1.5,0.75\n3,3");
  const RunRecord run = read();
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[1].train_loss, 1.5);
  EXPECT_EQ(run.epochs[1].val_top1, 0.75);
  EXPECT_TRUE(std::isnan(run.epochs[0].val_top1));
  EXPECT_TRUE(std::isnan(run.epochs[0].test_loss));
  EXPECT_FALSE(run.summary.has_value());
}

TEST_F(RunRecordTest, EpochsDoneAgainReplaceTheOldOnes) {
  put("epochs.csv", "epoch,train_loss\n1,4\n2,3\n3,2\n2,30\n2,31\n3,20\n");
  std::vector<double> losses;
  for (const EpochRecord& record : read().epochs) losses.push_back(record.train_loss);
  EXPECT_THAT(losses, ElementsAre(4, 31, 20));
}

TEST_F(RunRecordTest, LayersAndHistogramsAreRead) {
  put("layers.csv",
      "epoch,layer,role,format,elements,sqnr_db,share_saturated\n"
      "1,conv1,weight,\"fixed(8,4)\",144,31.5,0.25\n1,conv1,master,fp32,144,inf,0\n");
  put("histograms.csv", "epoch,layer,role,low,high,counts\n1,conv1,weight,-1,1.5,1 20 3\n");
  const RunRecord run = read();
  ASSERT_EQ(run.layers.size(), 2u);
  EXPECT_EQ(run.layers[0].format, "fixed(8,4)");
  EXPECT_EQ(run.layers[0].share_saturated, 0.25);
  EXPECT_EQ(run.layers[1].sqnr_db, INFINITY);
  ASSERT_EQ(run.histograms.size(), 1u);
  EXPECT_THAT(run.histograms[0].bins.counts, ElementsAre(1, 20, 3));
}

TEST_F(RunRecordTest, IntegersAreRead) {
  put("integers.csv",
      "epoch,layer,tensor,shift,share_saturated,share_at_rails,share_moved,misses,batches\n"
      "1,conv1,value,10,0.125,,,2,45\n1,conv1,weight,-1,,0.25,0.75,,\n2,conv1,value,9,0,,,3,90\n"
      "2,conv1,value,8,0,,,4,90\n1,conv1,value,7,0,,,1,45\n2,conv1,val");
  const RunRecord run = read();
  ASSERT_EQ(run.integers.size(), 1u);  // the run went on behind its checkpoint
  EXPECT_EQ(run.integers[0].shift, 7);
  put("integers.csv",
      "shift,tensor,layer,epoch,share_at_rails,share_moved,misses,batches\n"
      "-1,weight,\"conv,1\",3,0.25,0.75,,\n10,error,fc,3,,,2,45\n");
  const std::vector<IntegerRecord> records = read().integers;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].epoch, 3);
  EXPECT_EQ(records[0].layer, "conv,1");
  EXPECT_EQ(records[0].tensor, "weight");
  EXPECT_EQ(records[0].shift, -1);
  EXPECT_EQ(records[0].share_at_rails, 0.25);
  EXPECT_EQ(records[0].share_moved, 0.75);
  EXPECT_TRUE(std::isnan(records[0].misses));
  EXPECT_TRUE(std::isnan(records[0].share_saturated));
  EXPECT_EQ(records[1].misses, 2);
  EXPECT_EQ(records[1].batches, 45);
}

TEST_F(RunRecordTest, DamageInIntegersIsOneLineWithLineAndColumn) {
  const std::string header = "epoch,layer,tensor,shift,share_moved,misses\n1,c,value,3,0.5,1\n";
  const auto expect = [&](const std::string& row, const std::string& text) {
    put("integers.csv", header + row + "\n");
    EXPECT_EQ(error(), "[report] RUN/integers.csv line 3" + text);
  };
  expect("1,c,value,,0.5,1", ": shift: got '', expected a whole number");
  expect("1,c,value,3.5,0.5,1", ": shift: got '3.5', expected a whole number");
  expect("1,c,value,128,0.5,1", ": shift: got 128, expected -127 to 127");
  expect("1,c,value,-128,0.5,1", ": shift: got -128, expected -127 to 127");
  expect("x,c,value,3,0.5,1", ": epoch: got 'x', expected a whole number");
  expect("1,c,value,3,1.5,1", ": share_moved: got 1.5, expected 0 to 1");
  expect("1,c,value,3,0.5,1.5", ": misses: got '1.5', expected a whole number");
  expect("1,c,value,3,0.5,-1", ": misses: got -1, expected at least 0");
  expect("1,c,value,3,0.5", ": got 5 fields, expected 6");
  put("integers.csv", "epoch,layer,tensor\n1,c,value\n");
  EXPECT_EQ(error(),
            "[report] RUN/integers.csv line 1: got no column 'shift', expected a header that names "
            "it");
}

TEST_F(RunRecordTest, TheSummaryIsRead) {
  put("summary.json", R"({"epochs": 3, "seconds": 2.5, "weights_hash": "00ff",
    "best": {"epoch": 2, "val_top1": 0.9}, "val": null,
    "test": {"images": 4, "correct": 3, "top1": 0.75, "top5": 1, "loss": "nan",
             "confusion": [[1, 1], [0, 2]], "class_names": ["cat", "dog"]}})");
  const RunRecord run = read();
  ASSERT_TRUE(run.summary && run.summary->test);
  EXPECT_EQ(run.summary->weights_hash, "00ff");
  EXPECT_EQ(run.summary->best_val_top1, 0.9);
  EXPECT_EQ(run.summary->test->confusion[0][1], 1);
  EXPECT_TRUE(std::isnan(run.summary->test->loss));
  EXPECT_FALSE(run.summary->val.has_value());
}

TEST_F(RunRecordTest, DamageIsOneLineWithFileAndPlace) {
  put("settings.json", "{\"seed\": 1,\n\"x\": }");
  EXPECT_EQ(error(), "[report] RUN/settings.json line 2: got no JSON, expected a JSON object");
  put("settings.json", "{\"seed\": 1,\n");
  EXPECT_EQ(error(), "[report] RUN/settings.json line 2: got an early end, expected a JSON object");
  put("settings.json", "[]");
  EXPECT_EQ(error(), "[report] RUN/settings.json: content: got array, expected object");
  put("settings.json", "{\"a\":" + std::string(100000, '[') + "}");
  EXPECT_THAT(error(), HasSubstr("settings.json: depth: got over 64"));
  put("settings.json", "{}");

  put("epochs.csv", "epoch,val_top1\n1,0.5\n2,97.5\n");
  EXPECT_EQ(error(), "[report] RUN/epochs.csv line 3: val_top1: got 97.5, expected 0 to 1");
  put("epochs.csv", "epoch,train_loss\none,0.5\n");
  EXPECT_EQ(error(), "[report] RUN/epochs.csv line 2: epoch: got 'one', expected a whole number");
  put("epochs.csv", "");

  put("histograms.csv", "epoch,layer,role,low,high,counts\n1,c,weight,0,1,1 2 -3\n");
  EXPECT_EQ(error(),
            "[report] RUN/histograms.csv line 2: counts: got '-3', expected at most 65536 "
            "whole numbers between spaces");
  put("histograms.csv", "epoch,layer,role,low,high,counts\n1,c,weight,1,0,1 2\n");
  EXPECT_THAT(error(), HasSubstr("line 2: high: got 0, expected at least low, 1"));
  put("histograms.csv", "");

  put("summary.json", R"({"test": {"confusion": [[1, 2], [3]]}})");
  EXPECT_EQ(error(), "[report] RUN/summary.json: test.confusion row 2: got 1 counts, expected 2");
  put("summary.json", R"({"test": {"confusion": [[1]], "class_names": ["a", "b"]}})");
  EXPECT_THAT(error(), HasSubstr("test.class_names: got 2 names, expected 1"));
  put("summary.json", R"({"seconds": "soon"})");
  EXPECT_EQ(error(), "[report] RUN/summary.json: seconds: got string, expected number");
}

TEST_F(RunRecordTest, SettingsAreReadInTimeByTheirNumber) {
  std::string many = "{\"a\": 1";
  for (int i = 0; i < 10000; ++i) many += fmt::format(", \"k{}\": 1", i);
  put("settings.json", many + "}");
  EXPECT_EQ(error(), "[report] RUN/settings.json: keys: got over 10000, expected at most 10000");
  std::string list = "{\"a\": [[]";
  for (int i = 0; i < 10000; ++i) list += ", []";
  put("settings.json", list + "]}");
  EXPECT_EQ(error(),
            "[report] RUN/settings.json: settings: got over 10000, expected at most 10000");
  put("settings.json", "{\"" + std::string(998, 'a') + "\": {\"b\": 1}}");
  EXPECT_EQ(error(), "no error");
  put("settings.json", "{\"" + std::string(998, 'a') + "\": {\"bc\": 1}}");
  EXPECT_EQ(error(),
            "[report] RUN/settings.json: name of a setting: got 1001 bytes, expected at most 1000");
}

TEST_F(RunRecordTest, APageOfTooManyCellsIsRefused) {
  std::string layers = "epoch,layer,role\n";
  std::string histograms = "epoch,layer,role,low,high,counts\n";
  for (int i = 0; i < 1024; ++i) {
    layers += fmt::format("1,l{0},r{0}\n", i);
    histograms += fmt::format("1,l{0},r{0},0,1,1\n", i);
  }
  put("layers.csv", layers);
  EXPECT_EQ(error(), "no error");
  put("layers.csv", layers + "1,more,r0\n");
  EXPECT_EQ(
      error(),
      "[report] RUN/layers.csv: got 1025 layers by 1024 roles, expected at most 1048576 cells");
  put("layers.csv", "");
  put("histograms.csv", histograms + "1,l0,more,0,1,1\n");
  EXPECT_THAT(error(), HasSubstr("histograms.csv: got 1024 layers by 1025 roles"));
}

// By the square of their number it would be minutes.
TEST_F(RunRecordTest, TablesAreReadInTimeByTheirLength) {
  constexpr int kRows = 100000;
  std::string epochs = "epoch,layer,role\n";
  std::string names = epochs;
  for (int i = 0; i < kRows; ++i) epochs += "0,a,b\n";
  for (int i = 0; i < kRows; ++i) {
    epochs += "2,a,b\n1,a,b\n";
    names += fmt::format("0,l{},b\n", i);
  }
  const std::clock_t begin = std::clock();
  put("layers.csv", epochs);
  EXPECT_EQ(read().layers.size(), kRows + 1u);
  put("layers.csv", names);
  EXPECT_FALSE(report_html({read()}).empty());
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 30);
}

TEST_F(RunRecordTest, WhatIsNoFileIsNotWaitedFor) {
  const std::filesystem::path table = folder_.path() / "run/epochs.csv";
  std::filesystem::create_symlink("/dev/zero", table);
  EXPECT_EQ(error(), "[report] cannot read RUN/epochs.csv: not a regular file");
  std::filesystem::remove(table);
  ASSERT_EQ(::mkfifo(table.c_str(), 0600), 0);
  EXPECT_EQ(error(), "[report] cannot read RUN/epochs.csv: not a regular file");
}

TEST_F(RunRecordTest, WhatIsNoRunIsRefused) {
  EXPECT_THAT(error_of([&] { read_run(folder_.path() / "absent"); }),
              HasSubstr("got nothing there, expected a run folder"));
  EXPECT_THAT(error_of([&] { read_run(folder_.path()); }), HasSubstr("got no settings.json"));
  EXPECT_EQ(read_run(folder_.path() / "run/").name, "run");
}

}  // namespace
}  // namespace nibble::inline report
