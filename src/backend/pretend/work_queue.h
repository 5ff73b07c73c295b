// SPDX-License-Identifier: Apache-2.0
// A thread that does work in the order in which it is asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace nibble::inline backend {

class WorkQueue {
 public:
  WorkQueue();
  ~WorkQueue();  // what is left is done first
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void push(std::function<void()> work);
  // Returns when all is done; throws what the first failed work threw. After a failure nothing more
  // is done.
  void wait();
  void settle();  // the same, and throws nothing

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace nibble::inline backend
