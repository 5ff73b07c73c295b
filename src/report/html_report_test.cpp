// SPDX-License-Identifier: Apache-2.0
// Tests of the HTML report's text; tests/interop opens it in a browser.
#include "report/html_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/html_sections.h"
#include "report/report_test_support.h"

namespace nibble::inline report {
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

TEST(HtmlReport, LegendNamesOnlyTheSplitsThatAreDrawn) {
  RunRecord run = full_run("a", "1");  // without figures of the test split by epoch
  for (const std::size_t runs : {1u, 2u}) {
    const std::string html = report_html(std::vector<RunRecord>(runs, run));
    const std::size_t begin = html.find("<div class=\"legend\">");
    const std::string legend = html.substr(begin, html.find("</div>", begin) - begin);
    EXPECT_THAT(legend, HasSubstr("train</span>"));
    EXPECT_THAT(legend, HasSubstr("val</span>"));
    EXPECT_THAT(legend, Not(HasSubstr("test</span>")));
  }
}

TEST(HtmlReport, HasCurvesAsAPicture) {
  std::vector<RunRecord> runs = {full_run("a", "1"), full_run("b", "2"), full_run("c", "3")};
  for (std::size_t i = 0; i < 2; ++i) {
    runs[i].epochs[0].test_top1 = 0.25;
    runs[i].epochs[1].test_top1 = 0.5;
  }
  const std::string svg = top1_svg(runs);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_EQ(count_of(svg, "class=\"curve\""), 2u);  // the third run has no figure of a test split
  EXPECT_THAT(svg, HasSubstr(">50</text>"));
}

RunRecord integer_run(const std::string& name) {
  RunRecord run = full_run(name, "1");
  run.settings.emplace_back("arithmetic", "int8");
  run.settings.emplace_back("mu", "5,4@2");
  for (RoundingRecord& record : run.layers) record.sqnr_db = kAbsent;
  for (EpochRecord& record : run.epochs) record.learning_rate = 5;
  for (const std::int64_t epoch : {1, 2}) {
    for (const char* layer : {"conv1", "fc"}) {
      run.integers.push_back({.epoch = epoch,
                              .layer = layer,
                              .tensor = "value",
                              .shift = 8 + epoch,
                              .share_saturated = 0.125,
                              .misses = 3,
                              .batches = 45.0 * static_cast<double>(epoch)});
      run.integers.push_back({.epoch = epoch,
                              .layer = layer,
                              .tensor = "weight",
                              .shift = 12,
                              .share_at_rails = 0.0625,
                              .share_moved = 0.75});
    }
    run.integers.push_back({.epoch = epoch, .layer = "fc", .tensor = "error", .shift = 7});
  }
  return run;
}

TEST(HtmlReport, ShowsIntegersOfTheRunsThatHaveThem) {
  const std::string alone = report_html({integer_run("i")});
  const std::string floats = report_html({full_run("a", "1")});
  EXPECT_EQ(count_of(alone, "<h2>Integers"), 1u);
  for (const char* title :
       {"Shift of values", "Shift of errors", "Weights at ±127", "Weights that moved"}) {
    EXPECT_THAT(alone, HasSubstr(fmt::format(">{}", title)));
    EXPECT_THAT(floats, Not(HasSubstr(title)));
  }
  // 4 curves of the epochs; values, weights twice: 2 layers; errors: 1.
  EXPECT_EQ(count_of(alone, "class=\"curve\""), 4u + 7u);
  EXPECT_EQ(count_of(alone, "<tr class=\"integer\">"), 5u);  // of the last epoch
  EXPECT_THAT(alone, HasSubstr("<caption>Epoch 2</caption>"));
  for (const char* text : {">10<", ">12.50 %<", ">6.25 %<", ">75.00 %<", ">3 of 90<"}) {
    EXPECT_THAT(alone, HasSubstr(text));
  }
  EXPECT_THAT(alone, Not(HasSubstr(">3 of 45<")));
  EXPECT_THAT(alone, HasSubstr("<td class=\"name\">arithmetic</td><td class=\"wide\">int8</td>"));
  EXPECT_THAT(alone, HasSubstr("<td class=\"name\">mu</td><td class=\"wide\">5,4@2</td>"));

  RunRecord twice = integer_run("i");
  twice.integers.push_back(twice.integers.back());
  twice.integers.back().shift = 6;
  const std::string corrected = report_html({twice});
  EXPECT_EQ(count_of(corrected, "<tr class=\"integer\">"), 5u);  // the later one counts
  EXPECT_THAT(corrected, Not(HasSubstr("<td class=\"number\">7</td>")));

  const std::string both = report_html({full_run("a", "1"), integer_run("i"), integer_run("j")});
  EXPECT_EQ(count_of(both, "<h2>Integers"), 1u);
  EXPECT_EQ(count_of(both, "<tr class=\"integer\">"), 10u);
}

TEST(HtmlReport, ScalesAndShiftsOfBatchNormsHaveNoShares) {
  RunRecord run = integer_run("i");
  const std::size_t curves = count_of(report_html({run}), "class=\"curve\"");
  for (const std::int64_t epoch : {1, 2}) {
    for (const char* tensor : {"scale", "shift"})
      run.integers.push_back({.epoch = epoch, .layer = "norm1", .tensor = tensor, .shift = 25});
  }
  std::ranges::stable_sort(run.integers, {}, &IntegerRecord::epoch);
  const std::string html = report_html({run});
  EXPECT_EQ(count_of(html, "class=\"curve\""), curves);
  for (const char* tensor : {"scale", "shift"}) {
    EXPECT_THAT(html,
                HasSubstr(fmt::format("<td class=\"name\">norm1</td><td class=\"short\">{}</td>"
                                      "<td class=\"number\">25</td><td class=\"number\">–</td>"
                                      "<td class=\"number\">–</td><td class=\"number\">–</td>",
                                      tensor)));
  }
}

TEST(HtmlReport, RatesOfFloatsAndBitsOfIntegersDoNotShareAnAxis) {
  const std::string floats = report_html({full_run("a", "1")});
  EXPECT_THAT(floats, HasSubstr(">Learning rate<"));
  EXPECT_THAT(floats, Not(HasSubstr(">μ, bits")));
  const std::string integers = report_html({integer_run("i")});
  EXPECT_THAT(integers, Not(HasSubstr(">Learning rate")));
  EXPECT_THAT(integers, HasSubstr(">μ, bits"));
  const std::string both = report_html({full_run("a", "1"), integer_run("i")});
  EXPECT_THAT(both, HasSubstr(">Learning rate<"));
  EXPECT_THAT(both, HasSubstr(">μ, bits"));
}

TEST(HtmlReport, IntegersHaveNoMapOfRoundingErrors) {
  EXPECT_THAT(report_html({integer_run("i")}), Not(HasSubstr("<h2>Signal")));
}

TEST(HtmlReport, NeedsNothingElse) {
  const std::string html = report_html({integer_run("a")});
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_EQ(count_of(html, "http"),
            count_of(html, "http://www.w3.org/2000/svg") + 1);  // http-equiv
}

TEST(HtmlReport, HostileNamesAreText) {
  RunRecord run = integer_run(kHostile);
  run.started = kHostile;
  run.settings.emplace_back(kHostile, kHostile);
  for (RoundingRecord& record : run.layers) record.layer = record.role = record.format = kHostile;
  for (HistogramRecord& record : run.histograms) record.layer = record.role = kHostile;
  for (IntegerRecord& record : run.integers) record.layer = record.tensor = kHostile;
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
  for (const char* title : {"Curves", "Confusion", "Signal", "Integers"}) {
    EXPECT_THAT(html, Not(HasSubstr(fmt::format("<h2>{}", title))));
  }
  EXPECT_THAT(error_of([] { report_html({}); }), HasSubstr("got none, expected at least one"));
}

// A twin that PyTorch trained has a summary and no hash of weights.
TEST(HtmlReport, ARunWithoutAHashOfItsWeightsHasEnded) {
  RunRecord run = full_run("a", "1");
  run.summary->weights_hash = "";
  EXPECT_THAT(report_html({run, full_run("b", "1")}), Not(HasSubstr("not ended")));
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
}  // namespace nibble::inline report
