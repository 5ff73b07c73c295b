// SPDX-License-Identifier: Apache-2.0
// What a profiler of another make is told: every range that begins ends, in the order of a stack.
#include "core/host_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/host_trace.h"

namespace nibble::inline core {
namespace {

using testing::ElementsAre;

std::vector<std::string>& told_words() {
  static std::vector<std::string> words;
  return words;
}

class HostRanges : public testing::Test {
 protected:
  HostRanges() {
    told_words().clear();
    static const HostRangeListener kListener{[](const char* name) { told_words().push_back(name); },
                                             [] { told_words().push_back("end"); }};
    set_host_range_listener(&kListener);
  }
  ~HostRanges() override { set_host_range_listener(nullptr); }
};

TEST_F(HostRanges, OneFollowsTheOther) {
  enter_host_range("a");
  enter_host_range("b");
  leave_host_range();
  leave_host_range();  // nothing is open
  EXPECT_THAT(told_words(), ElementsAre("a", "end", "b", "end"));
}

TEST_F(HostRanges, InnerOnesLieInWhatWasEntered) {
  HostTrace host;
  EXPECT_TRUE(host.is_on());
  host.enter("conv1 forward");
  host.within("send conv1.value", [] { told_words().push_back("work"); });
  host.leave();
  EXPECT_THAT(told_words(), ElementsAre("conv1 forward", "send conv1.value", "work", "end", "end"));
}

TEST_F(HostRanges, AThreadEndsWhatItHasBegunItself) {
  enter_host_range("a");
  std::thread([] {
    leave_host_range();
    enter_host_range("b");
    leave_host_range();
  }).join();
  leave_host_range();
  EXPECT_THAT(told_words(), ElementsAre("a", "b", "end", "end"));
}

TEST_F(HostRanges, NobodyIsToldWhereNobodyListens) {
  set_host_range_listener(nullptr);
  HostTrace host;
  EXPECT_FALSE(host.is_on());
  host.enter("a");
  host.within("b", [] {});
  host.leave();
  EXPECT_THAT(told_words(), ElementsAre());
}

}  // namespace
}  // namespace nibble::inline core
