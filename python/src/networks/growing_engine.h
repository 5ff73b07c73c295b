// SPDX-License-Identifier: Apache-2.0
// An engine that is made anew for more examples when a larger batch comes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "nibble/inference/answer_engine.h"
#include "python/src/networks/bind.h"

namespace nibble::python {

// Made for so many examples at a time; `users` are runs, and submitted batches on their way.
struct SizedEngine {
  SizedEngine(const Model& model, const EngineOptions& options)
      : max_batch(options.max_batch), answers(copy_of(model), options) {}

  const Engine& engine() const { return answers.engine(); }

  std::int64_t max_batch;
  // Outlives it where the callback of a batch ends it: the batch still counts itself out.
  std::shared_ptr<std::atomic<int>> users = std::make_shared<std::atomic<int>>(0);
  AnswerEngine answers;
};

struct EngineLeaver {
  void operator()(SizedEngine*) const { --*users; }
  std::shared_ptr<std::atomic<int>> users;
};
// Keeps its engine until the run has ended.
using EngineUse = std::unique_ptr<SizedEngine, EngineLeaver>;

class GrowingEngine {
 public:
  // max_batch: none: it grows as far as its device gains by it. That of the options does not count.
  GrowingEngine(const ModelObject& model, const EngineOptions& options,
                std::optional<std::int64_t> max_batch);

  EngineUse now() const;
  // For such a batch: may make a new engine or wait for one, so nobody may hold Python's lock.
  EngineUse for_batch(std::int64_t batch);

 private:
  using Engines = std::vector<std::unique_ptr<SizedEngine>>;

  void grow(std::int64_t batch);
  std::unique_ptr<SizedEngine> made(std::int64_t max_batch);
  Engines take_unused();

  std::shared_ptr<const ModelFile> model_;
  std::mutex growing_;  // one thread at a time makes an engine; others run meanwhile
  EngineOptions options_;
  mutable std::mutex mutex_;  // of all below
  std::int64_t most_;
  std::unique_ptr<SizedEngine> current_;
  Engines left_;  // smaller ones; a later call ends those that nobody uses any more
};

}  // namespace nibble::python
