// SPDX-License-Identifier: Apache-2.0
// Tests of the page of runs.
#include "loadgen/load_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  meter.add({.issued = now,
             .begun = now,
             .ended = now + std::chrono::milliseconds(2),
             .samples = 4,
             .waiting = 0});
  meter.write(folder.path() / "fast", 1);
  const LoadRecord fast = read_load_record(folder.path() / "fast");
  EXPECT_EQ(fast.model, "net.nib");
  EXPECT_EQ(fast.rate.front().y, 40);
  EXPECT_EQ(fast.batch.front().y, 4);
  const std::string page = load_page({fast, read_load_record(folder.path() / "cut & short")});
  EXPECT_THAT(page, AllOf(HasSubstr("200.0 samples/s"), HasSubstr("cut &amp; short"),
                          HasSubstr("VALID"), HasSubstr("Samples a second"), HasSubstr("<svg")));
  EXPECT_THAT(load_page({read_load_record(folder.path() / "cut & short")}), Not(HasSubstr("<svg")));
}

TEST(LoadPages, RefuseOtherFolders) {
  const TemporaryFolder folder;
  folder.put("settings.json", "{}");
  EXPECT_THAT(error_of([&] { read_load_record(folder.path()); }),
              HasSubstr("settings of a run of nibble loadgen"));
}

}  // namespace
}  // namespace nibble::inline loadgen
