// SPDX-License-Identifier: Apache-2.0
// The signal handlers behind interrupt_requested.
#include "nibble/run/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace nibble {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

std::mutex guards_mutex;
int guards = 0;
std::array<struct sigaction, kSignals.size()> old_actions;

// Only calls that POSIX allows inside a handler.
void on_signal(int number) {
  if (received.exchange(number) == 0) return;
  if (::isatty(STDERR_FILENO) != 0) (void)!::write(STDERR_FILENO, "\n", 1);  // below the bar
  ::signal(number, SIG_DFL);
  ::raise(number);  // comes as soon as the handler returns
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) return;
  received = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &old_actions[i]);
    if (old_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (--guards > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &old_actions[i], nullptr);
  }
  received = 0;
}

bool interrupt_requested() {
  return received.load(std::memory_order_relaxed) != 0;
}

int interrupt_signal() {
  return received.load(std::memory_order_relaxed);
}

}  // namespace nibble
