// SPDX-License-Identifier: Apache-2.0
// Work on a thread of its own.
#include "backend/pretend/work_queue.h"

#include <utility>

namespace nibble::inline backend {

WorkQueue::WorkQueue() : thread_([this] { run(); }) {}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

void WorkQueue::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    ++open_;
  }
  asked_.notify_one();
}

void WorkQueue::settle() {
  spin_while([this] { return open_ > 0; });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return work_.empty() && !is_busy_; });
}

void WorkQueue::wait() {
  settle();
  if (failure_) std::rethrow_exception(failure_);  // written before the queue was empty
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    lock.unlock();
    spin_while([this] { return open_ == 0; });
    lock.lock();
    asked_.wait(lock, [this] { return is_ending_ || !work_.empty(); });
    if (work_.empty()) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    is_busy_ = true;
    const bool has_failed = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!has_failed) work();
    } catch (...) {
      failure = std::current_exception();
    }
    work = nullptr;  // what it held may ask for more work
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    is_busy_ = false;
    --open_;
    if (work_.empty()) done_.notify_all();  // waking takes longer than many an operation
  }
}

}  // namespace nibble::inline backend
