// SPDX-License-Identifier: Apache-2.0
// Traces say what ran when, in the form that viewers read.
#include "core/step_trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/test_support.h"

namespace nibble::inline core {
namespace {

TEST(StepTrace, TheHostDoesOneThingAfterTheOther) {
  StepTrace trace;
  trace.enter("a");
  trace.enter("b");
  trace.leave();
  trace.leave();  // nothing is open
  ASSERT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(trace.spans()[0].name, "a");
  EXPECT_EQ(trace.spans()[1].name, "b");
  EXPECT_EQ(trace.spans()[0].track, StepTrace::kHost);
  EXPECT_GE(trace.spans()[0].begin, 0);
  EXPECT_LE(trace.spans()[0].begin, trace.spans()[0].end);
  EXPECT_LE(trace.spans()[0].end, trace.spans()[1].begin);
}

TEST(StepTrace, OverlapsAreBusyOnce) {
  StepTrace trace;
  trace.add({"GPU", "x", 100, 200});
  trace.add({"GPU", "z", 300, 310});
  trace.add({"GPU", "y", 150, 220});
  trace.add({"GPU", "inside y", 160, 170});
  trace.add({"other", "z", 0, 5000});
  EXPECT_EQ(trace.length_of("GPU"), 210);
  EXPECT_EQ(trace.busy_of("GPU"), 130);
  EXPECT_EQ(trace.length_of("nobody"), 0);
  EXPECT_EQ(trace.busy_of("nobody"), 0);
}

TEST(StepTrace, WritesEventsThatViewersRead) {
  const TemporaryFolder folder;
  StepTrace trace;
  trace.add({"host", "conv1 \"forward\"", 1500, 4000});
  trace.add({"GPU", "turn", 2000, 2500, {{"bytes", "12"}}});
  const std::filesystem::path path = folder.path() / "trace.json";
  trace.write(path, "lenet");
  std::ifstream in(path);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["otherData"]["about"], "lenet");
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["args"]["name"], "GPU");
  EXPECT_EQ(events[1]["args"]["name"], "host");
  EXPECT_EQ(events[2]["ph"], "X");
  EXPECT_EQ(events[2]["name"], "conv1 \"forward\"");
  EXPECT_EQ(events[2]["ts"], 1.5);
  EXPECT_EQ(events[2]["dur"], 2.5);
  EXPECT_EQ(events[2]["tid"], events[1]["tid"]);
  EXPECT_EQ(events[3]["tid"], events[0]["tid"]);
  EXPECT_EQ(events[3]["args"]["bytes"], "12");
  EXPECT_FALSE(events[2].contains("args"));
}

}  // namespace
}  // namespace nibble::inline core
