// SPDX-License-Identifier: Apache-2.0
// Tests of the page of runs.
#include "loadgen/load_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "loadgen/load_meter.h"
#include "loadgen/loadgen_test_support.h"

namespace nibble::inline loadgen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadPages, ShowRunsAndWhatWasMeasured) {
  const TemporaryFolder folder;
  put_run(folder, "fast", 200, "");
  put_run(folder, "cut & short", 100, "");
  LoadMeter meter;
  const auto now = LoadClock::now();
  const std::array at_once = {now};
  DeviceTally& device = meter.make_device();
  device.begin(now);
  device.end(now + std::chrono::milliseconds(2));
  meter.make_tally().add({.issued = at_once,
                          .begun = now,
                          .ended = now + std::chrono::milliseconds(2),
                          .samples = 4,
                          .waiting = 0});
  meter.write(folder.path() / "fast", 1);
  const LoadRecord fast = read_load_record(folder.path() / "fast");
  EXPECT_EQ(fast.model, "net.nib");
  EXPECT_EQ(fast.rate.front().y, 40);
  EXPECT_EQ(fast.batch.front().y, 4);
  EXPECT_EQ(fast.device_busy.front().y, 2);
  const std::string page = load_page({fast, read_load_record(folder.path() / "cut & short")});
  EXPECT_THAT(page, AllOf(HasSubstr("200.0 samples/s"), HasSubstr("cut &amp; short"),
                          HasSubstr("VALID"), HasSubstr("0.500"), HasSubstr("Samples a second"),
                          HasSubstr("<svg"), HasSubstr("Device busy"), HasSubstr("of the lanes")));
  EXPECT_THAT(load_page({read_load_record(folder.path() / "cut & short")}), Not(HasSubstr("<svg")));
}

// A folder of a stranger's: other types, text with tags and escapes, numbers that no run has.
TEST(LoadPages, ShowWhateverAFolderHoldsWithoutHarm) {
  const TemporaryFolder folder;
  put_run(folder, "run", 200, "");
  folder.put(
      "run/settings.json",
      R"({"scenario": "Offline", "mode": 7, "model": ["a"], "batch": "many", "lanes": 1e308})");
  folder.put("run/slices.csv",
             "seconds,samples,batches,most_waiting,busy\n0,1e308,0,-1e308,nan\n"
             "1e308,1e308,1e308,inf,1e308\n-1,,,,\n");
  folder.put("run/latencies.csv", "most_ms,samples\n0,1\n-1,2\n1e308,1e308\n1e-308,3\n");
  folder.put("run/batches.csv", "samples,batches\n1e18,1e18\n-1e18,-1\n");
  const LoadRecord run = read_load_record(folder.path() / "run");
  EXPECT_EQ(run.mode, "");
  const std::string page = load_page({run});
  EXPECT_LT(page.size(), 100'000U);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf\""))));
  folder.put("run/settings.json",
             R"({"scenario": "Offline", "mode": "<script>\u001b[31m", "model": "x/<b>&\n"})");
  const std::string tags = load_page({read_load_record(folder.path() / "run")});
  EXPECT_THAT(tags, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")),
                          Not(HasSubstr("\x1b")), Not(HasSubstr("<b>"))));
}

TEST(LoadPages, ShowOlderRunsThatDoNotSayHowBusyADeviceWas) {
  const TemporaryFolder folder;
  put_run(folder, "run", 200, "");
  folder.put("run/slices.csv", "seconds,samples,batches,most_waiting,busy\n0,8,2,0,0.5\n");
  const LoadRecord run = read_load_record(folder.path() / "run");
  EXPECT_EQ(run.busy.front().y, 50);
  EXPECT_TRUE(run.device_busy.empty());
  EXPECT_THAT(load_page({run}), Not(HasSubstr("Device busy")));
}

TEST(LoadPages, RefuseOtherFolders) {
  const TemporaryFolder folder;
  folder.put("settings.json", "{}");
  EXPECT_THAT(error_of([&] { read_load_record(folder.path()); }),
              HasSubstr("settings of a run of nibble loadgen"));
}

}  // namespace
}  // namespace nibble::inline loadgen
