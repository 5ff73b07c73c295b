// SPDX-License-Identifier: Apache-2.0
// Tests of LoadGen's detailed log.
#include "loadgen/load_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "loadgen/loadgen_test_support.h"

namespace nibble::inline loadgen {
namespace {

TEST(LoadResults, AreReadLineByLine) {
  const LoadResult result = parse_detail_log(
      ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"6.0.17\"}\n"
      "something else\n"
      ":::MLLOG {\"key\": \"error_runtime\", \"value\": \"Ending early\"}\n"
      ":::MLLOG {\"key\": \"result_validity\", \"value\": \"INVALID\"}\n"
      ":::MLLOG {\"key\": \"result_invalid_reason\", \"value\": \"Too few.\\nToo slow. \"}\n"
      ":::MLLOG {\"key\": \"result_samples_per_second\", \"value\": 12.5}\n",
      "log");
  EXPECT_EQ(result.is_valid, false);
  EXPECT_EQ(result.reason, "Too few. Too slow.");
  EXPECT_EQ(result.errors, 1);
  EXPECT_EQ(result.figure("samples_per_second"), 12.5);
  EXPECT_EQ(result.figure("other"), std::nullopt);
  EXPECT_EQ(result.headline(Scenario::offline), "12.5 samples/s");
}

TEST(LoadResults, SayThatThereWereTooFewQueries) {
  const std::string text =
      ":::MLLOG {\"key\": \"early_stopping_met\", \"value\": false}\n"
      ":::MLLOG {\"key\": \"result_invalid_reason\", \"value\": \"\"}\n"
      ":::MLLOG {\"key\": \"early_stopping_result\", \"value\": \"* Processed 34 queries. \"}\n";
  EXPECT_EQ(parse_detail_log(text, "log").reason, "* Processed 34 queries.");
}

TEST(LoadResults, HaveNoValidityWhereOnlyAccuracyWasAsked) {
  EXPECT_EQ(parse_detail_log("", "log").is_valid, std::nullopt);
}

TEST(LoadResults, KnowTheSettingsThatHeldAndTheEstimatesOfStreams) {
  const LoadResult result =
      parse_detail_log(log_line("effective_scenario", "\"SingleStream\"") +
                           log_line("effective_target_latency_ns", "15000000") +
                           log_line("effective_performance_issue_same", "true") +
                           log_line("result_90.00_percentile_latency_ns", "170000") +
                           log_line("early_stopping_latency_ss", "180000") +
                           log_line("early_stopping_latency_ms", "1500000"),
                       "log");
  EXPECT_EQ(result.scenario_name, "SingleStream");
  EXPECT_EQ(result.latency_bound_ns, 15e6);
  EXPECT_TRUE(result.has_one_sample);
  EXPECT_EQ(result.score(Scenario::single_stream), 180e3);
  EXPECT_EQ(result.score(Scenario::multi_stream), 1.5e6);
  EXPECT_EQ(result.score(Scenario::offline), std::nullopt);
}

TEST(LoadResults, NameTheLineThatIsWrong) {
  EXPECT_EQ(error_of([] { parse_detail_log("\n:::MLLOG {\"key\": 1}\n", "log"); }),
            "[loadgen] log line 2: got '{\"key\": 1}', expected JSON with a key and a value");
  EXPECT_THAT(error_of([] { read_load_result("/nowhere"); }),
              ::testing::HasSubstr("cannot read /nowhere/mlperf_log_detail.txt: No such file"));
}

TEST(LoadResults, CorpusNamesSayWhatIsValid) {
  for_each_corpus_file("load_result", 7, [](const std::filesystem::path& path, bool is_valid) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(error_of([&] { parse_detail_log(text, "log"); }) == "no error", is_valid);
  });
}

}  // namespace
}  // namespace nibble::inline loadgen
