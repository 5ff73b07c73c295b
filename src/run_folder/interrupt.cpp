// SPDX-License-Identifier: Apache-2.0
// The signal handlers behind interrupt_requested.
#include "nibble/run_folder/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "core/temporary.h"

namespace nibble::inline run_folder {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

std::mutex guards_mutex;
int guards = 0;
std::array<struct sigaction, kSignals.size()> old_actions;

// Handlers have only calls that POSIX allows inside them.
void say(const char* text) {
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

void remember(int number) {
  if (received.exchange(number) == 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == number) ::sigaction(number, &old_actions[i], nullptr);
  }
  ::raise(number);  // comes as soon as the handler returns
}

void end_process(int number) {
  remove_temporaries();
  if (::isatty(STDERR_FILENO) != 0) say("\r\x1b[K");  // a bar may be there
  say("nibble: interrupted\n");
  ::_exit(128 + number);
}

struct sigaction action_of(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  return action;
}

}  // namespace

void end_on_interrupt() {
  const struct sigaction action = action_of(end_process);
  for (const int number : kSignals) {
    struct sigaction old = {};
    ::sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
  }
}

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(guards_mutex);
  if (guards++ > 0) return;
  received = 0;
  const struct sigaction action = action_of(remember);
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

}  // namespace nibble::inline run_folder
