// SPDX-License-Identifier: Apache-2.0
// parallel_for on OpenMP's static schedule.
#include "nibble/core/parallel.h"

#include <execinfo.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nibble/core/error.h"

namespace nibble::inline core {
namespace {

std::atomic<int> requested_threads{0};

// Keeps the exception of the lowest chunk, whatever the order in which chunks fail.
class FirstFailure {
 public:
  void record(std::int64_t chunk, std::exception_ptr exception) {
    const std::lock_guard lock(mutex_);
    if (exception_ && chunk >= chunk_) return;
    exception_ = std::move(exception);
    chunk_ = chunk;
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
  std::int64_t chunk_ = 0;
};

// How many threads, up to `wanted`, run beside this one; all have ended when it returns.
int most_threads_beside(int wanted) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(wanted));
  try {
    while (std::ssize(threads) < wanted) threads.emplace_back([&] { is_over.wait(false); });
  } catch (const std::exception&) {  // no thread, or no memory for what describes it
  }
  is_over = true;
  is_over.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

// libgomp ends its threads by pthread_exit, for which glibc loads its unwinder at the first call
// and ends the whole process where there is no memory left for it. backtrace loads the same one.
bool is_unwinder_loaded() {
  void* frame = nullptr;
  return ::backtrace(&frame, 1) > 0;
}

}  // namespace

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end)>& body) {
  if (grain == 0) throw Error("parallel_for", "grain", "0", "1 or more");
  if (count == 0) return;
  if (count <= grain) return body(0, count);
  const auto chunks = static_cast<std::int64_t>((count - 1) / grain + 1);

  FirstFailure failure;
  const auto run_chunk = [&](std::int64_t chunk) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * grain;
    try {
      body(begin, begin + std::min(grain, count - begin));
    } catch (...) {
      failure.record(chunk, std::current_exception());
    }
  };

  // Always the same team: libgomp ends the threads that a smaller one does not need, and starts
  // them again for the next.
  const int threads = thread_count();
  if (threads == 1 || omp_in_parallel() != 0) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) run_chunk(chunk);
  } else {
    require_threads(threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) run_chunk(chunk);
  }
  failure.rethrow();
}

void parallel_tasks(std::size_t count, const std::function<void(std::size_t task)>& body) {
  FirstFailure failure;
  const auto run_task = [&](std::int64_t task) {
    try {
      body(static_cast<std::size_t>(task));
    } catch (...) {
      failure.record(task, std::current_exception());
    }
  };
  const auto tasks = static_cast<std::int64_t>(count);
  const int threads = thread_count();
  if (threads == 1 || tasks <= 1 || omp_in_parallel() != 0) {
    for (std::int64_t task = 0; task < tasks; ++task) run_task(task);
  } else {
    require_threads(threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::int64_t task = 0; task < tasks; ++task) run_task(task);
  }
  failure.rethrow();
}

int thread_count() {
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return requested > 0 ? requested : std::min(omp_get_max_threads(), kMostThreads);
}

void set_thread_count(int threads) {
  if (threads < 0 || threads > kMostThreads) {
    throw Error("threads", "number", std::to_string(threads),
                "0 to " + std::to_string(kMostThreads));
  }
  requested_threads.store(threads, std::memory_order_relaxed);
}

void require_threads(int threads) {
  // OpenMP keeps a team for every thread that asks for one.
  thread_local int largest_team = 1;
  if (threads <= largest_team) return;
  if (!is_unwinder_loaded()) {
    throw Error("threads", "memory", "none left to load the unwinder (libgcc_s)",
                "room for what ends a thread", ErrorKind::memory);
  }
  const int started = 1 + most_threads_beside(threads - 1);
  if (started < threads) {
    throw Error("threads", "number", std::to_string(threads),
                "at most " + std::to_string(started) + ", as many as the system lets run",
                ErrorKind::system);
  }
  largest_team = threads;
}

}  // namespace nibble::inline core
