// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a question that loops ask.
#pragma once

#include <stdexcept>
#include <string>

namespace nibble::inline run_folder {

// Work that stopped at a signal, and what was saved of it.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(int signal, const std::string& text) : std::runtime_error(text), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// For a program's main: SIGINT and SIGTERM, where no guard listens, end the process with one line
// on standard error, a terminal without a bar, no temporary left and the exit code 128 + signal.
void end_on_interrupt();

// While it lives the first SIGINT or SIGTERM is remembered, and a second one ends the process at
// once as if no guard had listened. A signal that was ignored stays ignored (nohup). Guards may
// nest; the last one to go puts the old handlers back and forgets the request.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupt_requested();
int interrupt_signal();  // SIGINT or SIGTERM, 0: none

}  // namespace nibble::inline run_folder
