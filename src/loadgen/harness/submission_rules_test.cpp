// SPDX-License-Identifier: Apache-2.0
// Tests of what marks a run as no submission.
#include "loadgen/harness/submission_rules.h"

#include <gtest/gtest.h>

namespace nibble::inline loadgen {
namespace {

constexpr const char* kBenchmark = "resnet50";

mlperf::TestSettings official(Scenario scenario) {
  mlperf::TestSettings settings;
  settings.FromConfig("", kBenchmark, std::string(name_of(scenario)), 0);
  return settings;
}

TEST(SubmissionRules, AreKeptByMlperfConfAndByWhatAUserMaySay) {
  for (const Scenario scenario :
       {Scenario::offline, Scenario::server, Scenario::single_stream, Scenario::multi_stream}) {
    mlperf::TestSettings settings = official(scenario);
    EXPECT_EQ(broken_rules(settings, kBenchmark, scenario), "");
    settings.min_duration_ms *= 2;
    settings.min_query_count *= 2;
    settings.offline_expected_qps = 1e5;
    settings.server_target_qps = 1e5;
    settings.server_target_latency_ns /= 2;
    settings.server_coalesce_queries = true;
    settings.single_stream_expected_latency_ns = 1;
    settings.performance_sample_count_override *= 2;
    EXPECT_EQ(broken_rules(settings, kBenchmark, scenario), "");
  }
}

TEST(SubmissionRules, SayWhatIsLess) {
  mlperf::TestSettings settings = official(Scenario::offline);
  settings.min_duration_ms = 1000;
  EXPECT_EQ(broken_rules(settings, kBenchmark, Scenario::offline),
            "min_duration is 1000, mlperf.conf has 600000");
  settings.min_query_count = 1;
  settings.performance_issue_same = true;
  EXPECT_EQ(broken_rules(settings, kBenchmark, Scenario::offline),
            "min_duration is 1000, mlperf.conf has 600000, min_query_count is 1, mlperf.conf has "
            "24576, performance_issue_same is 1, mlperf.conf has 0");
}

TEST(SubmissionRules, HoldForEachScenario) {
  mlperf::TestSettings settings = official(Scenario::server);
  settings.server_target_latency_ns = 20'000'000;
  settings.server_target_latency_percentile = 0.9;
  EXPECT_EQ(broken_rules(settings, kBenchmark, Scenario::server),
            "target_latency is 20, mlperf.conf has 15, target_latency_percentile is 0.9, "
            "mlperf.conf has 0.99");
  EXPECT_EQ(broken_rules(settings, kBenchmark, Scenario::offline).find("latency"),
            std::string::npos);
  settings = official(Scenario::multi_stream);
  settings.multi_stream_samples_per_query = 4;
  EXPECT_EQ(broken_rules(settings, kBenchmark, Scenario::multi_stream),
            "samples_per_query is 4, mlperf.conf has 8");
}

}  // namespace
}  // namespace nibble::inline loadgen
