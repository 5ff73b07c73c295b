// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a question that loops ask.
#pragma once

namespace nibble {

// While it lives the first SIGINT or SIGTERM is remembered, and a second one ends the process at
// once as if nobody had listened. A signal that was ignored stays ignored (nohup). Guards may nest;
// the last one to go puts the old handlers back and forgets the request.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupt_requested();
int interrupt_signal();  // SIGINT or SIGTERM, 0: none

}  // namespace nibble
