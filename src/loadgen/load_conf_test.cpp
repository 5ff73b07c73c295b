// SPDX-License-Identifier: Apache-2.0
// Tests of configurations.
#include "loadgen/load_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"

namespace nibble::inline loadgen {
namespace {

using ::testing::HasSubstr;

TEST(LoadConf, SettingsStandBehindTheFileUnderTheMostExactKey) {
  LoadConf conf("*.*.min_duration = 600000", "resnet50", Scenario::server);
  conf.set("min_duration=500");
  conf.set("target_qps", 12.5);
  EXPECT_EQ(conf.text(),
            "*.*.min_duration = 600000\nresnet50.Server.min_duration = 500\n"
            "resnet50.Server.target_qps = 12.5\n");
}

TEST(LoadConf, KnowsWhatIsSaidForItsScenario) {
  const LoadConf conf(
      "# *.Offline.max_duration = 1\n*.Offline.target_qps = 9\nbert.*.min_duration = 1\n"
      "resnet50.*.min_query_count = 3\n",
      "resnet50", Scenario::offline);
  EXPECT_TRUE(conf.has("target_qps"));
  EXPECT_TRUE(conf.has("min_query_count"));
  EXPECT_FALSE(conf.has("min_duration"));
  EXPECT_FALSE(conf.has("max_duration"));
}

TEST(LoadConf, RefusesWhatLoadGenWouldOverlook) {
  LoadConf conf("", "resnet50", Scenario::offline);
  EXPECT_THAT(error_of([&] { conf.set("min_durations=1"); }),
              HasSubstr("[loadgen] setting: got 'min_durations', expected target_qps"));
  EXPECT_EQ(error_of([&] { conf.set("mode=fast"); }),
            "[loadgen] setting 'mode': got 'fast', expected KEY=NUMBER");
  EXPECT_THAT(error_of([&] { conf.set("mode"); }), HasSubstr("got ''"));
  EXPECT_EQ(conf.text(), "");
}

TEST(Scenarios, HaveNames) {
  for (const char* name : {"Offline", "Server", "SingleStream", "MultiStream"})
    EXPECT_EQ(name_of(parse_scenario(name)), name);
  for (const char* name : {"performance", "accuracy", "submission", "find-peak"})
    EXPECT_EQ(name_of(parse_load_mode(name)), name);
  EXPECT_EQ(error_of([] { parse_scenario("offline"); }),
            "[loadgen] scenario: got offline, expected SingleStream, MultiStream, Server, Offline");
}

}  // namespace
}  // namespace nibble::inline loadgen
