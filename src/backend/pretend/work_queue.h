// SPDX-License-Identifier: Apache-2.0
// A thread that does work in the order in which it is asked for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/spin.h"

namespace nibble::inline backend {

// Looks again and again for a moment, as long as `holds` does: waking a thread that sleeps can take
// longer than what it waits for. Two threads of a processor may share a core: who waits pauses, so
// that the other one has most of it.
template <class Condition>
void spin_while(const Condition& holds) {
  constexpr auto kMoment = std::chrono::milliseconds(1);
  constexpr int kPauses = 16;  // less than a microsecond
  const auto end = std::chrono::steady_clock::now() + kMoment;
  while (holds() && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < kPauses; ++i) relax();
    std::this_thread::yield();
  }
}

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
  std::condition_variable asked_;  // heard by the thread
  std::condition_variable done_;   // by who waits for all of it, once that is so
  std::deque<std::function<void()>> work_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::atomic<std::int64_t> open_ = 0;  // asked for and not done
  std::thread thread_;                  // last: it uses all of the above
};

}  // namespace nibble::inline backend
