// SPDX-License-Identifier: Apache-2.0
// Tests of the HTML report's text; tests/interop opens it in a browser.
#include "nibble/report/html_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html_sections.h"
#include "report/report_test_support.h"

namespace nibble {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</style><script>alert(1)</script>\"'&";

RunRecord full_run(const std::string& name, const std::string& seed) {
  RunRecord run = {.path = name, .name = name, .started = "2026-01-01"};
  run.settings = {{"network", "lenet"}, {"data", "digits"}, {"seed", seed}};
  run.epochs = {
      {.epoch = 1, .learning_rate = 0.1, .train_loss = 2, .val_loss = 2.1, .val_top1 = 0.5},
      {.epoch = 2, .learning_rate = 0.1, .train_loss = 1, .val_loss = 1.5, .val_top1 = 0.7}};
  run.layers = {
      {.epoch = 2, .layer = "conv1", .role = "error", .format = "e5m2", .sqnr_db = 20},
      {.epoch = 2, .layer = "conv1", .role = "weight", .format = "e4m3", .sqnr_db = INFINITY}};
  run.histograms = {{.epoch = 1, .layer = "conv1", .role = "weight", .bins = {-1, 1, {1, 5, 1}}},
                    {.epoch = 2, .layer = "conv1", .role = "weight", .bins = {-1.5, 1, {1, 5, 1}}}};
  run.summary = SummaryRecord{.epochs = 2, .seconds = 3, .weights_hash = "hash" + seed};
  run.summary->test = EvaluationRecord{.images = 10,
                                       .correct = 8,
                                       .top1 = 0.8,
                                       .confusion = {{4, 1}, {1, 4}},
                                       .class_names = {"cat", "dog"}};
  return run;
}

TEST(HtmlReport, HasEveryPartOfAFullRun) {
  const std::string html = report_html({full_run("a", "1"), full_run("b", "2")});
  for (const char* title : {"Results", "Curves", "Settings", "Signal to rounding error",
                            "Values, by layer", "Confusion"}) {
    EXPECT_THAT(html, HasSubstr(fmt::format("<h2>{}", title)));
  }
  EXPECT_EQ(count_of(html, "class=\"curve\""), 8u);  // 2 runs: 2 losses, 1 top-1, 1 learning rate
  EXPECT_EQ(count_of(html, "class=\"histogram\""), 2u);
  EXPECT_THAT(html, HasSubstr("80.00 %"));
  EXPECT_THAT(html, HasSubstr("<tr class=\"differs\"><td class=\"name\">seed</td>"));
  EXPECT_THAT(html, HasSubstr("2 settings agree"));
  EXPECT_THAT(html, HasSubstr("cat taken for dog: 1 of 5, 20.00 %"));
}

TEST(HtmlReport, NeedsNothingElse) {
  const std::string html = report_html({full_run("a", "1")});
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_EQ(count_of(html, "http"),
            count_of(html, "http://www.w3.org/2000/svg") + 1);  // http-equiv
}

TEST(HtmlReport, HostileNamesAreText) {
  RunRecord run = full_run(kHostile, kHostile);
  run.started = kHostile;
  run.settings.emplace_back(kHostile, kHostile);
  for (LayerRecord& record : run.layers) record.layer = record.role = record.format = kHostile;
  for (HistogramRecord& record : run.histograms) record.layer = record.role = kHostile;
  run.summary->weights_hash = kHostile;
  run.summary->test->class_names = {kHostile, kHostile};
  for (const std::vector<RunRecord>& runs :
       {std::vector{run}, std::vector{run, full_run("b", "1")}}) {
    const std::string html = report_html(runs);
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_EQ(count_of(html, "</style>"), 1u);
    EXPECT_THAT(html, Not(HasSubstr("\"'&")));
    EXPECT_THAT(html, HasSubstr("&lt;/style&gt;&lt;script&gt;alert(1)"));
  }
}

TEST(HtmlReport, AnEmptyRunMakesAShortPage) {
  const std::string html = report_html({RunRecord{.path = "r", .name = "r"}});
  EXPECT_THAT(html, HasSubstr("not ended"));
  EXPECT_THAT(html, HasSubstr("nothing measured yet"));
  for (const char* title : {"Curves", "Confusion", "Signal"}) {
    EXPECT_THAT(html, Not(HasSubstr(fmt::format("<h2>{}", title))));
  }
  EXPECT_THAT(error_of([] { report_html({}); }), HasSubstr("got none, expected at least one"));
}

TEST(HtmlReport, RolesComeInTheOrderOfAStep) {
  EXPECT_THAT(role_order({"update", "own", "error", "weight", "update"}),
              ElementsAre("weight", "error", "update", "own"));
  EXPECT_THAT(layer_order({"b", "a", "b"}), ElementsAre("b", "a"));
}

TEST(HtmlReport, TheFileIsWholeOrNotThere) {
  const TemporaryFolder folder;
  write_report(folder.path() / "r.html", {full_run("a", "1")});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "r.html"));
  EXPECT_THROW(write_report(folder.path() / "no" / "r.html", {full_run("a", "1")}), Error);
}

}  // namespace
}  // namespace nibble
