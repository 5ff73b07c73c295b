// SPDX-License-Identifier: Apache-2.0
// Threads that take batches, first come, first served.
#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/run_queue.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

// A queue in memory that grows to the most that ever waited, and then takes no more.
class WaitingRuns {
 public:
  bool is_empty() const { return count_ == 0; }

  void push(SubmittedRun run) {
    if (count_ == ring_.size()) grow();
    ring_[(first_ + count_++) % ring_.size()] = std::move(run);
  }
  SubmittedRun pop() {
    SubmittedRun run = std::move(ring_[first_]);
    first_ = (first_ + 1) % ring_.size();
    --count_;
    return run;
  }

 private:
  void grow() {
    std::vector<SubmittedRun> larger(2 * ring_.size());
    for (std::size_t i = 0; i < count_; ++i)
      larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<SubmittedRun> ring_{64};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// What the threads of a queue share; the last of them may outlive the queue.
class LaneWork {
 public:
  explicit LaneWork(RunFunction run) : run_(std::move(run)) {}

  void add(SubmittedRun run) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push(std::move(run));
    }
    has_news_.notify_one();
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    has_news_.notify_all();
  }

  // Until it ends and nothing waits.
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      has_news_.wait(lock, [&] { return is_ending_ || !waiting_.is_empty(); });
      if (waiting_.is_empty()) return;
      SubmittedRun next = waiting_.pop();
      lock.unlock();
      finish(std::move(next));
      lock.lock();
    }
  }

 private:
  // What the completion keeps, the engine perhaps, goes with it.
  void finish(SubmittedRun next) noexcept {
    std::exception_ptr error;
    try {
      run_(next);
    } catch (...) {
      error = std::current_exception();
    }
    next.done(std::move(error));
  }

  RunFunction run_;
  std::mutex mutex_;
  std::condition_variable has_news_;
  WaitingRuns waiting_;
  bool is_ending_ = false;
};

class ThreadQueue final : public RunQueue {
 public:
  ThreadQueue(int lanes, RunFunction run) : work_(std::make_shared<LaneWork>(std::move(run))) {
    try {
      for (int lane = 0; lane < lanes; ++lane)
        threads_.emplace_back([work = work_] { work->serve(); });
    } catch (const std::system_error&) {
      end();
      throw Error("engine", "lanes", std::to_string(lanes),
                  fmt::format("at most {}, as many as the system lets run", threads_.size()),
                  ErrorKind::system);
    }
  }
  ~ThreadQueue() override { end(); }

  // The batch may end the queue before this returns.
  void submit(SubmittedRun run) override { std::shared_ptr(work_)->add(std::move(run)); }

 private:
  // A thread that ends its own queue, in a completion, cannot wait for itself: it does its share of
  // what still waits, and goes when that completion returns.
  void end() {
    work_->end();
    for (std::thread& thread : threads_) {
      if (thread.get_id() == std::this_thread::get_id()) {
        work_->serve();
        thread.detach();
      } else {
        thread.join();
      }
    }
  }

  std::shared_ptr<LaneWork> work_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<RunQueue> make_thread_queue(int lanes, RunFunction run) {
  return std::make_unique<ThreadQueue>(lanes, std::move(run));
}

}  // namespace nibble::inline engine
