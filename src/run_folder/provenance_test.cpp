// SPDX-License-Identifier: Apache-2.0
// Tests of where a result says it comes from.
#include "run_folder/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/test_support.h"
#include "nibble/core/parallel.h"
#include "nibble/version.h"

namespace nibble::inline run_folder {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Provenance, KnowsTheBuildAndTheMachine) {
  const Provenance run = this_run();
  EXPECT_EQ(run.version, kVersion);
  EXPECT_THAT(run.commit, MatchesRegex("unknown|[0-9a-f]+(-dirty)?"));
  EXPECT_NE(build_type(), "unknown");
  EXPECT_EQ(build_identity(),
            "nibble " + run.version + " " + run.commit + " " + std::string(build_type()));
  EXPECT_THAT(run.command, HasSubstr("run_folder_test"));
  EXPECT_THAT(run.started, MatchesRegex("20[0-9-]+T[0-9:]+Z"));
  EXPECT_EQ(run.started.size(), 20U);
  EXPECT_FALSE(run.machine.cpu.empty());
  EXPECT_GE(run.machine.cores, 1);
  EXPECT_EQ(run.machine.threads, thread_count());
  EXPECT_FALSE(run.machine.isa.empty());
  EXPECT_GT(run.machine.memory_gib, 0.1);
  EXPECT_THAT(run.machine.os, HasSubstr("Linux"));
}

TEST(Provenance, PeakMemoryGrowsWithUse) {
  const double before = peak_memory_mib();
  EXPECT_GT(before, 1.0);
  std::vector<char> block(64 << 20, 'x');
  EXPECT_GE(peak_memory_mib(), before + 32 * (block.back() == 'x' ? 1 : 0));
}

TEST(Provenance, IsJson) {
  const auto json = nlohmann::json::parse(to_json(this_run()));
  for (const char* key : {"nibble", "commit", "command", "started", "machine"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key : {"cpu", "cores", "threads", "isa", "memory_gib", "os"}) {
    EXPECT_TRUE(json["machine"].contains(key)) << key;
  }
}

TEST(Provenance, BytesThatAreNoTextDoNotStopARun) {
  EXPECT_NO_THROW(nlohmann::json::parse(to_json({.command = "nibble \xff"})));
}

TEST(Provenance, StandsInFrontOfTheSettings) {
  const std::string text = settings_json({.version = "1"}, R"({"seed": 7, "network": "lenet"})");
  const auto json = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json.begin().key(), "nibble");
  EXPECT_EQ((--json.end()).key(), "network");
  EXPECT_THAT(error_of([] { settings_json({}, "[1]"); }), HasSubstr("expected a JSON object"));
  EXPECT_THAT(error_of([] { settings_json({}, "{"); }), HasSubstr("got text that is no JSON"));
}

}  // namespace
}  // namespace nibble::inline run_folder
