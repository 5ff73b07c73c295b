// SPDX-License-Identifier: Apache-2.0
// Tests of compliance tests.
#include "loadgen/compliance.h"

#include <gtest/gtest.h>

#include "loadgen/loadgen_test_support.h"

namespace nibble::inline loadgen {
namespace {

class ComplianceTests : public ::testing::Test {
 protected:
  void SetUp() override {
    put_run(folder_, "accuracy", 0,
            R"({"qsl_idx":0,"data":"01000000"},{"qsl_idx":1,"data":"02000000"})");
    put_run(folder_, "performance", 100, "");
  }
  Compliance test01_of(double speed, const std::string& answers) const {
    put_run(folder_, "audit", speed, answers);
    return test01(folder_.path() / "accuracy", folder_.path() / "performance",
                  folder_.path() / "audit");
  }

  TemporaryFolder folder_;
};

TEST_F(ComplianceTests, Test01ComparesSampledAnswersAndSpeed) {
  const std::string right = R"({"qsl_idx":1,"data":"02000000"})";
  EXPECT_TRUE(test01_of(91, right).has_passed);
  EXPECT_EQ(test01_of(91, right).text,
            "1 of 1 sampled answers are those of the accuracy run, speed 91.0 % of the performance "
            "run's");
  EXPECT_FALSE(test01_of(89, right).has_passed);
  EXPECT_FALSE(test01_of(100, R"({"qsl_idx":1,"data":"01000000"})").has_passed);
  EXPECT_FALSE(test01_of(100, R"({"qsl_idx":2,"data":"01000000"})").has_passed);
  EXPECT_FALSE(test01_of(100, "").has_passed);  // nothing was sampled
}

TEST_F(ComplianceTests, Test04ComparesSpeeds) {
  put_run(folder_, "same", 109, "");
  EXPECT_TRUE(test04(folder_.path() / "performance", folder_.path() / "same").has_passed);
  put_run(folder_, "same", 111, "");
  EXPECT_FALSE(test04(folder_.path() / "performance", folder_.path() / "same").has_passed);
}

}  // namespace
}  // namespace nibble::inline loadgen
