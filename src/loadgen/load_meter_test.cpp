// SPDX-License-Identifier: Apache-2.0
// Tests of what is counted in a run.
#include "loadgen/load_meter.h"

#include <gtest/gtest.h>

#include <array>

#include "core/test_support.h"
#include "core/text_file.h"

namespace nibble::inline loadgen {
namespace {

using namespace std::chrono_literals;

TEST(LoadMeter, CountsBatchesByTimeSizeAndLatency) {
  LoadMeter meter;
  const auto start = LoadClock::now();
  LoadTally& one = meter.make_tally();
  LoadTally& other = meter.make_tally();
  const std::array at_once = {start};
  one.add({.issued = at_once, .begun = start, .ended = start + 1ms, .samples = 3, .waiting = 5});
  other.add({.issued = at_once, .begun = start, .ended = start + 1ms, .samples = 3, .waiting = 2});
  one.add({.issued = at_once,
           .begun = start + 150ms,
           .ended = start + 151ms,
           .samples = 1,
           .waiting = 0});
  const TemporaryFolder folder;
  meter.write(folder.path(), 2);
  EXPECT_EQ(read_text_file(folder.path() / "slices.csv", "test"),
            "seconds,batches,samples,most_waiting,busy,device_busy\n"
            "0.0,2,6,5,0.0100,0.0000\n0.1,1,1,0,0.0050,0.0000\n");
  EXPECT_EQ(read_text_file(folder.path() / "batches.csv", "test"), "samples,batches\n1,1\n3,2\n");
  // 1 ms lies in [2^19·15/8, 2^20) ns, 151 ms in [2^27·9/8, 2^27·10/8).
  EXPECT_EQ(read_text_file(folder.path() / "latencies.csv", "test"),
            "most_ms,samples\n1.04858,6\n167.772,1\n");
}

// Samples of a batch of Server came one after the other.
TEST(LoadMeter, CountsTheTimeOfEverySample) {
  LoadMeter meter;
  const auto start = LoadClock::now();
  const std::array one_by_one = {start, start + 150ms, start + 150ms};
  meter.make_tally().add({.issued = one_by_one,
                          .begun = start + 150ms,
                          .ended = start + 151ms,
                          .samples = 3,
                          .waiting = 0});
  const TemporaryFolder folder;
  meter.write(folder.path(), 1);
  EXPECT_EQ(read_text_file(folder.path() / "latencies.csv", "test"),
            "most_ms,samples\n1.04858,2\n167.772,1\n");
}

// A batch of 0.26 s on one of two lanes, and one that began before it but was told of later.
TEST(LoadMeter, SharesTheTimeOfLongBatchesOut) {
  LoadMeter meter;
  const auto start = LoadClock::now();
  const std::array at_once = {start};
  meter.make_tally().add({.issued = at_once,
                          .begun = start + 1ms,
                          .ended = start + 261ms,
                          .samples = 2,
                          .waiting = 0});
  meter.make_tally().add(
      {.issued = at_once, .begun = start, .ended = start + 4ms, .samples = 1, .waiting = 0});
  const TemporaryFolder folder;
  meter.write(folder.path(), 2);
  EXPECT_EQ(read_text_file(folder.path() / "slices.csv", "test"),
            "seconds,batches,samples,most_waiting,busy,device_busy\n"
            "0.0,2,3,0,0.5200,0.0000\n0.1,0,0,0,0.5000,0.0000\n0.2,0,0,0,0.3000,0.0000\n");
}

// Two batches that overlap from 30 to 60 ms, a pause of 100 ms, a third one; another device is
// idle.
TEST(LoadMeter, CountsTimeWithSeveralBatchesOnADeviceOnce) {
  LoadMeter meter;
  const auto start = LoadClock::now();
  DeviceTally& device = meter.make_device();
  meter.make_device();
  LoadTally& tally = meter.make_tally();
  const std::array at_once = {start};
  const auto add = [&](auto begun, auto ended) {
    tally.add({.issued = at_once,
               .begun = start + begun,
               .ended = start + ended,
               .samples = 1,
               .waiting = 0});
  };
  add(0ms, 60ms);
  add(30ms, 90ms);
  add(190ms, 210ms);
  device.begin(start);
  device.begin(start + 30ms);
  device.end(start + 90ms);  // the second one's answer is told of first
  device.end(start + 60ms);
  device.begin(start + 190ms);
  device.end(start + 210ms);
  const TemporaryFolder folder;
  meter.write(folder.path(), 2);
  EXPECT_EQ(read_text_file(folder.path() / "slices.csv", "test"),
            "seconds,batches,samples,most_waiting,busy,device_busy\n"
            "0.0,2,2,0,0.6000,0.4500\n0.1,1,1,0,0.0500,0.0500\n0.2,0,0,0,0.0500,0.0500\n");
}

}  // namespace
}  // namespace nibble::inline loadgen
