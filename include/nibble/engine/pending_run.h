// SPDX-License-Identifier: Apache-2.0
// A submitted run, for whoever waits for it.
#pragma once

#include <chrono>
#include <memory>

namespace nibble::inline engine {

class Engine;
struct PendingState;
class PendingStates;

class PendingRun {
 public:
  PendingRun() = default;  // of nothing: it has ended
  PendingRun(PendingRun&& other) noexcept;
  PendingRun& operator=(PendingRun&& other) noexcept;
  ~PendingRun();  // waits: after it, what the run reads and writes may go

  bool is_done() const;
  bool wait_for(std::chrono::nanoseconds time) const;  // whether it has ended by then
  void get();  // waits, then throws what the run threw; once

 private:
  friend class Engine;
  explicit PendingRun(std::shared_ptr<PendingStates> states);
  void release() noexcept;

  std::shared_ptr<PendingStates> states_;
  PendingState* state_ = nullptr;
};

}  // namespace nibble::inline engine
