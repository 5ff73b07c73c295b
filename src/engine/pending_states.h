// SPDX-License-Identifier: Apache-2.0
// What a PendingRun and the thread that runs it share. States are made once and used again, so that
// waiting takes no memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <vector>

namespace nibble::inline engine {

struct PendingState {
  std::mutex mutex;
  std::condition_variable has_ended;
  bool is_done = false;
  std::exception_ptr error;

  void end(std::exception_ptr with);
};

class PendingStates {
 public:
  PendingState* take();
  void give(PendingState* state) noexcept;  // one that is done

 private:
  std::mutex mutex_;
  std::deque<PendingState> all_;
  std::vector<PendingState*> free_;
};

}  // namespace nibble::inline engine
