// SPDX-License-Identifier: Apache-2.0
// How a device takes batches without keeping the caller waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// A batch on its way. Sizes are checked, the range of its numbers is not.
struct SubmittedRun {
  std::span<const std::byte> input = {};
  std::int64_t batch = 0;
  std::span<std::byte> output = {};
  Completion done = {};
  ExamplesApart apart = {};  // instead of `input`, where examples lie so
};

class RunQueue {
 public:
  RunQueue() = default;
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;
  virtual ~RunQueue() = default;  // when all that was submitted has ended

  // Batches begin in the order in which they come; each one's `done` is called once, by a thread of
  // the queue. Any number of threads submit, `done` may as well.
  virtual void submit(SubmittedRun run) = 0;
};

// By threads that call `run`, as many batches at a time; what it throws is given to `done`.
using RunFunction = std::function<void(const SubmittedRun&)>;
std::unique_ptr<RunQueue> make_thread_queue(int lanes, RunFunction run);

}  // namespace nibble::inline engine
