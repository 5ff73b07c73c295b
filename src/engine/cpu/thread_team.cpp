// SPDX-License-Identifier: Apache-2.0
// Threads that take tasks.
#include "engine/cpu/thread_team.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "core/spin.h"
#include "nibble/core/error.h"

namespace nibble::inline engine {
namespace {

constexpr int kSpins = 20'000;  // some 100 µs: steps follow each other faster than threads wake
constexpr int kTaskBits = 32;
constexpr std::uint64_t kTaskMask = (std::uint64_t{1} << kTaskBits) - 1;

}  // namespace

ThreadTeam::ThreadTeam(int workers) : shares_(static_cast<std::size_t>(workers)) {
  try {
    for (int w = 1; w < workers; ++w) threads_.emplace_back([this, w] { serve(w); });
  } catch (const std::system_error&) {
    dismiss();
    throw Error("engine", "threads", std::to_string(workers),
                fmt::format("at most {}, as many as the system lets run", 1 + threads_.size()),
                ErrorKind::system);
  } catch (...) {
    dismiss();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  dismiss();
}

void ThreadTeam::dismiss() {
  is_ending_ = true;
  ++job_;
  job_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::int64_t ThreadTeam::share_end(std::size_t share) const {
  return count_.load(std::memory_order_relaxed) * static_cast<std::int64_t>(share + 1) / workers();
}

bool ThreadTeam::take_of_share(std::size_t share, int worker) {
  std::atomic<std::uint64_t>& left = shares_[share].left;
  std::uint64_t seen = left.load(std::memory_order_acquire);
  do {
    if ((seen & kTaskMask) == 0) return false;
  } while (!left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel));
  // The job cannot end, nor another begin, before this task is done.
  const std::int64_t task = share_end(share) - static_cast<std::int64_t>(seen & kTaskMask);
  call_.load(std::memory_order_relaxed)(body_.load(std::memory_order_relaxed), worker, task);
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

bool ThreadTeam::take_task(int worker) {
  const auto own = static_cast<std::size_t>(worker);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (take_of_share((own + i) % shares_.size(), worker)) return true;
  }
  return false;
}

void ThreadTeam::run_tasks(std::int64_t count, const void* body, Call call) {
  // No task of the last job is left to take: nobody reads these until a share has tasks again.
  body_.store(body, std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  const std::uint64_t job = job_.load(std::memory_order_relaxed) + 1;
  for (std::size_t s = 0; s < shares_.size(); ++s) {
    const std::int64_t tasks = share_end(s) - (s == 0 ? 0 : share_end(s - 1));
    shares_[s].left.store(job << kTaskBits | static_cast<std::uint64_t>(tasks),
                          std::memory_order_release);
  }
  job_.store(job, std::memory_order_release);
  job_.notify_all();
  while (take_task(0)) {
  }
  for (int spin = 0; done_.load(std::memory_order_acquire) != count; ++spin) {
    relax();
    if (spin >= kSpins) std::this_thread::yield();
  }
}

void ThreadTeam::serve(int worker) {
  for (;;) {
    // In this order: who sees the number that ends the wait sees that all ends.
    const std::uint64_t seen = job_.load(std::memory_order_acquire);
    if (is_ending_.load(std::memory_order_relaxed)) return;
    while (take_task(worker)) {
    }
    bool is_new = false;
    for (int spin = 0; spin < kSpins && !is_new; ++spin) {
      relax();
      is_new = job_.load(std::memory_order_relaxed) != seen;
    }
    if (!is_new) job_.wait(seen);
  }
}

}  // namespace nibble::inline engine
