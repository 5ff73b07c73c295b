// SPDX-License-Identifier: Apache-2.0
// Tests of compliance tests.
#include "loadgen/compliance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loadgen/loadgen_test_support.h"

namespace nibble::inline loadgen {
namespace {

using ::testing::HasSubstr;

const std::string kRight = R"({"qsl_idx":1,"data":"02000000"})";
const std::string kOneSample = log_line("effective_performance_issue_same", "true");
const std::string kInvalid =
    log_line("result_validity", "\"INVALID\"") + log_line("result_invalid_reason", "\"Too slow.\"");

// Lines that make a run another scenario's: those that come later count.
std::string stream_of(const char* scenario, const char* estimate, double ns) {
  return log_line("effective_scenario", fmt::format("\"{}\"", scenario)) +
         log_line(estimate, fmt::format("{}", ns));
}
std::string single_stream_of(double ns) {
  return stream_of("SingleStream", "early_stopping_latency_ss", ns);
}
std::string multi_stream_of(double ns) {
  return stream_of("MultiStream", "early_stopping_latency_ms", ns);
}
std::string server_of(double speed, double bound_ns) {
  return stream_of("Server", "effective_target_latency_ns", bound_ns) +
         log_line("result_completed_samples_per_sec", fmt::format("{}", speed));
}

class ComplianceTests : public ::testing::Test {
 protected:
  void SetUp() override {
    put_run(folder_, "accuracy", 0,
            R"({"qsl_idx":0,"data":"01000000"},{"qsl_idx":1,"data":"02000000"})");
    put_run(folder_, "performance", 100, "");
  }
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }

  Compliance test01_of(double speed, const std::string& answers,
                       const std::string& more = "") const {
    put_run(folder_, "audit", speed, answers, more);
    return test01(path("accuracy"), path("performance"), path("audit"));
  }
  Compliance test04_of(double speed, const std::string& more = kOneSample) const {
    put_run(folder_, "same", speed, "", more);
    return test04(path("performance"), path("same"));
  }
  // Of a performance run and one beside it.
  bool passes01(const std::string& performance, const std::string& audit) const {
    put_run(folder_, "performance", 100, "", performance);
    return test01_of(100, kRight, audit).has_passed;
  }
  bool passes04(const std::string& performance, const std::string& same) const {
    put_run(folder_, "performance", 100, "", performance);
    return test04_of(100, same + kOneSample).has_passed;
  }

  TemporaryFolder folder_;
};

TEST_F(ComplianceTests, Test01ComparesSampledAnswers) {
  EXPECT_TRUE(test01_of(100, kRight).has_passed);
  EXPECT_FALSE(test01_of(100, R"({"qsl_idx":1,"data":"01000000"})").has_passed);
  EXPECT_FALSE(test01_of(100, R"({"qsl_idx":2,"data":"01000000"})").has_passed);
  EXPECT_FALSE(test01_of(100, "").has_passed);  // nothing was sampled
}

TEST_F(ComplianceTests, Test01WantsTheSameSpeedBothWays) {
  EXPECT_TRUE(test01_of(91, kRight).has_passed);
  EXPECT_EQ(test01_of(91, kRight).text,
            "1 of 1 sampled answers are those of the accuracy run, speed 91.0 % of the performance "
            "run's (within 10 %)");
  EXPECT_FALSE(test01_of(89, kRight).has_passed);
  EXPECT_TRUE(test01_of(109, kRight).has_passed);
  EXPECT_FALSE(test01_of(111, kRight).has_passed);
}

TEST_F(ComplianceTests, Test04WantsThatOneSampleIsNoFaster) {
  EXPECT_TRUE(test04_of(109).has_passed);
  EXPECT_EQ(test04_of(50).text,
            "one sample again and again: speed 50.0 % of the performance run's (less than 110)");
  EXPECT_TRUE(test04_of(50).has_passed);
  EXPECT_FALSE(test04_of(111).has_passed);
  EXPECT_FALSE(test04_of(100, "").has_passed);  // it has many samples
  EXPECT_THAT(test04_of(100, "").text, HasSubstr("same was given more than one sample"));
  put_run(folder_, "performance", 100, "", kOneSample);
  EXPECT_FALSE(test04_of(100).has_passed);
}

TEST_F(ComplianceTests, StreamsCompareTheEarlyStoppingEstimate) {
  EXPECT_TRUE(passes01(single_stream_of(1e6), single_stream_of(1.09e6)));
  EXPECT_FALSE(passes01(single_stream_of(1e6), single_stream_of(1.11e6)));
  EXPECT_FALSE(passes01(single_stream_of(1e6), single_stream_of(0.89e6)));
  EXPECT_TRUE(passes04(multi_stream_of(1e7), multi_stream_of(2e7)));
  EXPECT_TRUE(passes04(multi_stream_of(1e7), multi_stream_of(0.92e7)));
  EXPECT_FALSE(passes04(multi_stream_of(1e7), multi_stream_of(0.9e7)));
  EXPECT_FALSE(passes01(multi_stream_of(0), multi_stream_of(0)));  // there is no estimate
}

TEST_F(ComplianceTests, ShortLatenciesMayDifferByAFifth) {
  EXPECT_TRUE(passes01(single_stream_of(200e3), single_stream_of(239e3)));
  EXPECT_FALSE(passes01(single_stream_of(200e3), single_stream_of(241e3)));
  EXPECT_FALSE(passes01(single_stream_of(201e3), single_stream_of(239e3)));
  EXPECT_TRUE(passes01(multi_stream_of(1.6e6), multi_stream_of(1.9e6)));
  EXPECT_FALSE(passes01(multi_stream_of(1.61e6), multi_stream_of(1.9e6)));
  EXPECT_TRUE(passes04(single_stream_of(200e3), single_stream_of(168e3)));
  EXPECT_FALSE(passes04(single_stream_of(200e3), single_stream_of(166e3)));
}

TEST_F(ComplianceTests, RunsHaveToBeValidAndAlike) {
  EXPECT_FALSE(passes01(kInvalid, ""));
  EXPECT_FALSE(passes01("", kInvalid));
  EXPECT_THAT(test01_of(100, kRight, kInvalid).text, HasSubstr("audit is INVALID: Too slow."));
  EXPECT_FALSE(passes04(kInvalid, ""));
  EXPECT_FALSE(passes04("", kInvalid));
  EXPECT_FALSE(passes01(server_of(100, 15e6), ""));
  EXPECT_THAT(test01_of(100, kRight).text, HasSubstr("performance is Server, "));
  EXPECT_FALSE(passes04("", server_of(100, 15e6)));
  EXPECT_TRUE(passes01(server_of(50, 15e6), server_of(50, 15e6)));
  EXPECT_FALSE(passes01(server_of(50, 15e6), server_of(50, 20e6)));
  EXPECT_THAT(test01_of(100, kRight, server_of(50, 20e6)).text,
              HasSubstr("; latency bounds of 15 and 20 ms"));
  EXPECT_FALSE(passes04(server_of(50, 15e6), server_of(50, 20e6)));
}

TEST_F(ComplianceTests, RunsOfAccuracyHaveNoSpeed) {
  folder_.put(fmt::format("accuracy/{}", kDetailLog),
              log_line("effective_scenario", "\"Offline\""));
  EXPECT_THAT(error_of([&] { test04(path("accuracy"), path("accuracy")); }),
              HasSubstr("no figure of speed"));
}

}  // namespace
}  // namespace nibble::inline loadgen
