// SPDX-License-Identifier: Apache-2.0
// Threads that take tasks.
#include "engine/crew.h"

namespace nibble {
namespace {

constexpr int kSpins = 20'000;  // some 100 µs: steps follow each other faster than threads wake
constexpr std::uint64_t kTaskMask = 0xFFFF'FFFF;

void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

Crew::Crew(int workers) {
  try {
    for (int w = 1; w < workers; ++w) threads_.emplace_back([this, w] { serve(w); });
  } catch (...) {
    dismiss();
    throw;
  }
}

Crew::~Crew() {
  dismiss();
}

void Crew::dismiss() {
  is_ending_ = true;
  ticket_ += kTaskMask + 1;
  ticket_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Crew::take_task(int worker) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  for (;;) {
    const auto task = static_cast<std::int64_t>(ticket & kTaskMask);
    if (task >= count_.load(std::memory_order_relaxed)) return false;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    // The job cannot end, nor another begin, before this task is done.
    call_.load(std::memory_order_relaxed)(body_.load(std::memory_order_relaxed), worker, task);
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }
}

void Crew::run_tasks(std::int64_t count, const void* body, Call call) {
  // No task of the last job is left to take: nobody reads these until the ticket changes.
  body_.store(body, std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  const std::uint64_t job = (ticket_.load(std::memory_order_relaxed) | kTaskMask) + 1;
  count_.store(0, std::memory_order_release);
  ticket_.store(job, std::memory_order_release);
  count_.store(count, std::memory_order_release);
  ticket_.notify_all();
  while (take_task(0)) {
  }
  for (int spin = 0; done_.load(std::memory_order_acquire) != count; ++spin) {
    relax();
    if (spin >= kSpins) std::this_thread::yield();
  }
}

void Crew::serve(int worker) {
  while (!is_ending_.load(std::memory_order_relaxed)) {
    const std::uint64_t seen = ticket_.load(std::memory_order_acquire);
    while (take_task(worker)) {
    }
    bool is_new = false;
    for (int spin = 0; spin < kSpins && !is_new; ++spin) {
      relax();
      is_new = ticket_.load(std::memory_order_relaxed) != seen;
    }
    if (!is_new) ticket_.wait(seen);
  }
}

}  // namespace nibble
