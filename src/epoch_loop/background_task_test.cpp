// SPDX-License-Identifier: Apache-2.0
// Work beside the loop comes one after the other, and its failures are told.
#include "epoch_loop/trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nibble::inline epoch_loop {
namespace {

TEST(BackgroundTask, OneComesAfterTheOther) {
  std::vector<int> order;  // no lock: the next begins once the one before has ended
  BackgroundTask task;
  for (int i = 0; i < 5; ++i) {
    task.start([&order, i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 - i));
      order.push_back(i);
    });
  }
  task.wait();
  task.wait();  // nothing is left
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(BackgroundTask, AFailureIsToldOnceByWhoeverWaits) {
  BackgroundTask task;
  task.start([] { throw std::runtime_error("no space"); });
  EXPECT_THROW(task.start([] {}), std::runtime_error);
  task.start([] { throw std::runtime_error("no space"); });
  EXPECT_THROW(task.wait(), std::runtime_error);
  EXPECT_NO_THROW(task.wait());
}

TEST(BackgroundTask, ItsEndWaits) {
  std::atomic<bool> is_done = false;
  {
    BackgroundTask task;
    task.start([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_done = true;
    });
  }
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace nibble::inline epoch_loop
