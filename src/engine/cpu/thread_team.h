// SPDX-License-Identifier: Apache-2.0
// The threads of one run: they share the tasks of a step, and a step has ended when its tasks have,
// whether or not every thread came in time. On a busy machine a late thread holds nobody up.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace nibble::inline engine {

class ThreadTeam {
 public:
  explicit ThreadTeam(int workers);  // the caller of run is worker 0
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int workers() const { return static_cast<int>(shares_.size()); }

  // Calls body(worker, task) for the tasks 0 to count - 1, which must not throw. Every worker has a
  // share of tasks that follow one another, the first the first: what it wrote in one step, it
  // mostly reads in the next. When its share is taken, it takes from others'. One run at a time. No
  // allocation.
  template <class Body>
  void run(std::int64_t count, const Body& body) {
    if (threads_.empty() || count <= 1) {
      for (std::int64_t task = 0; task < count; ++task) body(0, task);
      return;
    }
    run_tasks(count, &body, [](const void* it, int worker, std::int64_t task) {
      (*static_cast<const Body*>(it))(worker, task);
    });
  }

 private:
  using Call = void (*)(const void* body, int worker, std::int64_t task);

  void run_tasks(std::int64_t count, const void* body, Call call);
  bool take_task(int worker);  // false: there is none
  bool take_of_share(std::size_t share, int worker);
  std::int64_t share_end(std::size_t share) const;
  void serve(int worker);
  void dismiss();  // all threads

  // A worker's share of the tasks: the number of the job, times 2^32, and how many of its tasks are
  // left. A task is taken by lowering this, so that nobody takes one of a job that has ended.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> left{0};
  };
  std::vector<Share> shares_;
  std::atomic<std::uint64_t> job_{0};
  std::atomic<std::int64_t> count_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<const void*> body_{nullptr};
  std::atomic<Call> call_{nullptr};
  std::atomic<bool> is_ending_{false};
  std::vector<std::thread> threads_;
};

}  // namespace nibble::inline engine
