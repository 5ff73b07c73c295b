// SPDX-License-Identifier: Apache-2.0
// Tests of tables that grow by whole rows.
#include "run_folder/csv_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/test_support.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;

class CsvLogTest : public testing::Test {
 protected:
  std::string table() const { return folder_.content_of("t.csv"); }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "t.csv";
};

TEST(CsvRow, QuotesWhatNeedsIt) {
  EXPECT_EQ(CsvRow().add("a").add("float(5,10)").add("say \"x\"").add("").line(),
            "a,\"float(5,10)\",\"say \"\"x\"\"\",\n");
  EXPECT_EQ(CsvRow().add("").add(std::int64_t{-3}).add(0.1).add(std::optional<double>{}).line(),
            ",-3,0.1,\n");
}

TEST(CsvRow, NoTextEndsALineOrBeginsAFormula) {
  EXPECT_EQ(CsvRow().add("=1+1").add("-a").add("@x,y").add("+").line(), "'=1+1,'-a,\"'@x,y\",'+\n");
  EXPECT_EQ(CsvRow().add("a\n1,2").add("b\r").add("\x1b[31m").line(),
            "\"a 1,2\",b ,\xef\xbf\xbd[31m\n");
}

TEST_F(CsvLogTest, GrowsAndGoesOn) {
  {
    CsvLog log(path_, "epoch,x");
    log.append("0,1\n");
    EXPECT_EQ(table(), "epoch,x\n0,1\n");
  }
  CsvLog log(path_, "epoch,x");
  log.append("1,2\n2,3\n");
  EXPECT_EQ(table(), "epoch,x\n0,1\n1,2\n2,3\n");
}

TEST_F(CsvLogTest, CutsAnUnfinishedRow) {
  folder_.put("t.csv", "epoch,x\n0,1\n1,");
  CsvLog(path_, "epoch,x").append("1,2\n");
  EXPECT_EQ(table(), "epoch,x\n0,1\n1,2\n");
  folder_.put("t.csv", "epo");
  CsvLog(path_, "epoch,x").append("0,1\n");
  EXPECT_EQ(table(), "epoch,x\n0,1\n");
}

TEST_F(CsvLogTest, AnotherTableIsRefused) {
  folder_.put("t.csv", "epoch,y\n0,1\n");
  EXPECT_THAT(error_of([&] { CsvLog(path_, "epoch,x"); }),
              HasSubstr("t.csv: header: got 'epoch,y', expected 'epoch,x'"));
  EXPECT_EQ(table(), "epoch,y\n0,1\n");
  folder_.put("t.csv", "\x1b[31m" + std::string(1000, 'y') + "\n0,1\n");
  EXPECT_THAT(error_of([&] { CsvLog(path_, "epoch,x"); }),
              HasSubstr("header: got '\xef\xbf\xbd[31m" + std::string(54, 'y') + "…', expected"));
}

TEST_F(CsvLogTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { CsvLog(path_, "epoch,x"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { cut_after_epoch(path_, 1); }), HasSubstr("not a regular file"));
}

TEST_F(CsvLogTest, AFullDiskLeavesWholeRows) {
  CsvLog log(path_, "epoch,x");
  log.append("0,1\n");
  {
    const FileSizeLimit full(16);  // four bytes more fit
    EXPECT_THAT(error_of([&] { log.append("1,234567\n2,3\n"); }),
                HasSubstr("cannot write " + path_.string() + ": File too large"));
  }
  EXPECT_EQ(table(), "epoch,x\n0,1\n");
  log.append("1,2\n");
  EXPECT_EQ(table(), "epoch,x\n0,1\n1,2\n");
}

TEST_F(CsvLogTest, AFullDiskLeavesNoHalfHeader) {
  const FileSizeLimit full(4);
  EXPECT_THAT(error_of([&] { CsvLog(path_, "epoch,x"); }), HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CsvLogTest, RowsAfterAnEpochAreCut) {
  const std::string all = "epoch,x\n0,a\n0,b\n1,\"c\nd\"\n2,e\n";
  const auto cut = [&](const std::string& text, std::int64_t epoch) {
    folder_.put("t.csv", text);
    cut_after_epoch(path_, epoch);
    return table();
  };
  EXPECT_EQ(cut(all, 2), all);
  EXPECT_EQ(cut(all, 1), "epoch,x\n0,a\n0,b\n1,\"c\nd\"\n");
  EXPECT_EQ(cut(all, 0), "epoch,x\n0,a\n0,b\n");
  EXPECT_EQ(cut(all, -1), "epoch,x\n");
  EXPECT_EQ(cut(all + "2,f", 2), all);
  EXPECT_EQ(cut(all + std::string(5, '\0') + "\n", 2), all);
  EXPECT_EQ(cut("", 2), "");
  std::filesystem::remove(path_);
  cut_after_epoch(path_, 3);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace nibble::inline run_folder
