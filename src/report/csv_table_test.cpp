// SPDX-License-Identifier: Apache-2.0
// Tests of comma-separated values.
#include "report/csv_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/report_test_support.h"

namespace nibble::inline report {
namespace {

std::string error_in(const std::string& text, const std::string& column = "") {
  return error_of([&] {
    const CsvTable table("f.csv", text);
    if (!column.empty()) table.number(0, column);
  });
}

TEST(CsvTable, ColumnsAreFoundByName) {
  const CsvTable table("f.csv", "b,a\n1,2.5\n,inf\r\n");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.number(0, "a"), 2.5);
  EXPECT_EQ(table.whole(0, "b"), 1);
  EXPECT_FALSE(table.number(1, "b").has_value());
  EXPECT_EQ(table.number(1, "a"), INFINITY);
  EXPECT_FALSE(table.number(1, "absent").has_value());
}

TEST(CsvTable, QuotesHoldCommasAndQuotes) {
  const CsvTable table("f.csv", "a,b\n\"fixed(8,4)\",\"say \"\"x\"\"\"\n");
  EXPECT_EQ(table.text(0, "a"), "fixed(8,4)");
  EXPECT_EQ(table.text(0, "b"), "say \"x\"");
}

TEST(CsvTable, ALineStillBeingWrittenIsLeftOut) {
  EXPECT_EQ(CsvTable("f.csv", "a,b\n1,2\n3").rows(), 1u);
  EXPECT_EQ(CsvTable("f.csv", "a,").rows(), 0u);
  EXPECT_EQ(CsvTable("f.csv", "").rows(), 0u);
}

TEST(CsvTable, DamageIsNamedByFileAndLine) {
  EXPECT_EQ(error_in("a,b\n1,2\n3\n"), "[report] f.csv line 3: got 1 fields, expected 2");
  EXPECT_EQ(error_in("a\n1x\n", "a"), "[report] f.csv line 2: a: got '1x', expected a number");
  EXPECT_EQ(error_in("a\n\"x\n"),
            "[report] f.csv line 2: got '\"x', expected fields whose quotes are closed");
  EXPECT_EQ(error_in("a\nx\"y\"\n"),
            "[report] f.csv line 2: got 'x\"y\"', expected fields whose quotes are closed");
  EXPECT_EQ(error_in("a\n\"x\"y\n"),
            "[report] f.csv line 2: got '\"x\"y', expected fields whose quotes are closed");
  EXPECT_EQ(error_of([] { CsvTable("f.csv", "a\n1\n").require("epoch"); }),
            "[report] f.csv line 1: got no column 'epoch', expected a header that names it");
}

}  // namespace
}  // namespace nibble::inline report
