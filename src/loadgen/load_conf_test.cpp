// SPDX-License-Identifier: Apache-2.0
// Tests of configurations.
#include "loadgen/load_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/test_corpus.h"
#include "core/test_support.h"
#include "core/text_file.h"

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
  EXPECT_THAT(error_of([&] { conf.set("mode=1"); }), HasSubstr("got 'mode', expected target_qps"));
  EXPECT_EQ(
      error_of([&] { conf.set("max_duration=long"); }),
      "[loadgen] setting 'max_duration': got 'long', expected a whole number from 0 to 1e+12");
  EXPECT_THAT(error_of([&] { conf.set("max_duration"); }), HasSubstr("got ''"));
  EXPECT_EQ(conf.text(), "");
}

TEST(LoadConf, RefusesWhatLoadGenWouldReadAsAnotherNumber) {
  LoadConf conf("", "resnet50", Scenario::server);
  for (const char* number : {"1e3", "0.5", "-1", "0x10", "010", "nan", "inf", "1e99", "1 2", "١"}) {
    EXPECT_THAT(error_of([&] { conf.set(std::string("min_query_count=") + number); }),
                HasSubstr("expected a whole number"))
        << number;
  }
  for (const char* number : {"-1", "nan", "inf", "1e13", "1,5", ""}) {
    EXPECT_THAT(error_of([&] { conf.set(std::string("target_qps=") + number); }),
                HasSubstr("expected a number from 0 to 1e+12"))
        << number;
  }
  LoadConf multi("", "resnet50", Scenario::multi_stream);
  EXPECT_THAT(error_of([&] { multi.set("samples_per_query=0"); }), HasSubstr("from 1 to 65536"));
  EXPECT_THAT(error_of([&] { conf.set("target_latency=0.5"); }), HasSubstr("a whole number"));
  conf.set("min_query_count=15.0");
  conf.set("target_qps=1.5e3");
  conf.set("accuracy_log_rng_seed=18446744073709551615");
  LoadConf("", "resnet50", Scenario::single_stream).set("target_latency=0.5");
}

TEST(LoadConf, AFileIsHeldToTheSameWhereItCounts) {
  const auto check = [](const std::string& text) {
    return error_of([&] { LoadConf(text, "llama3.1", Scenario::offline).check("user.conf"); });
  };
  EXPECT_EQ(
      check("\n*.*.min_query_count = -1\n"),
      "[loadgen] user.conf line 2: 'min_query_count': got '-1', expected a whole number from 0 "
      "to 1e+12");
  EXPECT_THAT(check("llama3.1.Offline.min_duration = 1 1e9"), HasSubstr("got '1e9'"));
  EXPECT_EQ(check("*.Server.min_query_count = -1\nbert.*.min_query_count = -1\n# *.*.mode = -1\n"
                  "bert.*.use_token_latencies = 1\n*.*.target_qps = 1e3\n*.*.min_duration\n"),
            "no error");
}

TEST(LoadConf, ALineThatLoadGenWouldOverlookIsAnError) {
  const auto check = [](const std::string& text) {
    return error_of([&] { LoadConf(text, "resnet50", Scenario::offline).check("user.conf"); });
  };
  EXPECT_THAT(check("\n*.*.min_durations = 1\n"),
              HasSubstr("[loadgen] user.conf line 2: got 'min_durations', expected target_qps"));
  EXPECT_THAT(check("resnet50.*.qsl_rng_seed = 1"), HasSubstr("got 'qsl_rng_seed', expected"));
  EXPECT_EQ(check("*.Ofline.target_qps = 1"),
            "[loadgen] user.conf line 1: got 'Ofline', expected a scenario, or *");
  EXPECT_EQ(check("target_qps = 1"),
            "[loadgen] user.conf line 1: got 'target_qps', expected BENCHMARK.SCENARIO.KEY");
  EXPECT_EQ(check("*.Offline.target_latency = 1"),
            "[loadgen] user.conf line 1: 'target_latency': got Offline, expected Server, "
            "SingleStream, MultiStream: LoadGen overlooks it elsewhere");
  EXPECT_EQ(check("*.*.target_latency = 1"), "no error");  // of those that look it up
  EXPECT_EQ(check("bert.Offlin.min_durations = 1"), "no error");
  LoadConf conf("", "resnet50", Scenario::single_stream);
  EXPECT_THAT(error_of([&] { conf.set("target_qps=1"); }),
              HasSubstr("setting 'target_qps': got SingleStream, expected Offline, Server"));
}

TEST(LoadConf, CorpusNamesSayWhatIsValid) {
  for_each_corpus_file("load_conf", 20, [](const std::filesystem::path& path, bool is_valid) {
    const LoadConf conf(read_text_file(path, "test"), "resnet50", Scenario::offline);
    const std::string error = error_of([&] { conf.check(path.filename().string()); });
    EXPECT_EQ(error == "no error", is_valid) << error;
  });
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
