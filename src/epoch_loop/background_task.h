// SPDX-License-Identifier: Apache-2.0
// One piece of work beside the loop: files are written while the next epoch trains.
#pragma once

#include <functional>
#include <future>
#include <utility>

namespace nibble::inline epoch_loop {

class BackgroundTask {
 public:
  // Waits for the one before.
  void start(std::function<void()> work) {
    wait();
    running_ = std::async(std::launch::async, std::move(work));
  }

  // Throws what the work threw.
  void wait() {
    if (running_.valid()) running_.get();
  }

 private:
  std::future<void> running_;  // its end waits as well
};

}  // namespace nibble::inline epoch_loop
