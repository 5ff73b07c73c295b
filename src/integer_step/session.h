// SPDX-License-Identifier: Apache-2.0
// A network in integer training: one step from bytes to moved weights without a float.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "integer_step/tape.h"
#include "nibble/cluster/communicator.h"

namespace nibble::inline integer_step {

// The part of a batch that belongs to one rank.
struct RankShare {
  std::int64_t rank = 0;
  std::int64_t size = 1;

  static RankShare of(const Communicator* cluster) {
    if (cluster == nullptr) return {};
    return {cluster->rank(), cluster->size()};
  }
  std::int64_t first(std::int64_t all) const { return all * rank / size; }
  std::int64_t count(std::int64_t all) const { return all * (rank + 1) / size - first(all); }
};

// What the examples of this rank are, and where they stand in the batch of all ranks.
struct IntegerBatch {
  InputBatch input;
  std::span<const std::int32_t> labels = {};
  std::span<const std::int32_t> targets = {};  // in 2^-16, where the loss is a squared error
  std::int64_t first_image = 0;
  std::int64_t all_images = 0;
};

// The answers of a batch, image after image.
struct IntegerAnswers {
  std::vector<std::int8_t> mantissas;
  int exponent = 0;
  std::int64_t width = 0;  // of one image
};

// Throw where a network cannot be trained in integers: by its loss and its answer, and by all of
// its layers. Little work and no memory.
void check_integer_answer(const Network& network);
void check_integer_form(const Network& network);

class IntegerSession {
 public:
  // The network must outlive the session and end in a loss; `cluster` null or of one process:
  // alone.
  IntegerSession(const Network& network, const IntegerOptions& options,
                 Communicator* cluster = nullptr);
  IntegerSession(const Network& network, const IntegerOptions& options, Communicator* cluster,
                 Placement placement);

  // One step; the answers are those before the weights moved.
  IntegerAnswers step(const IntegerBatch& batch);

  // The same in two parts: steps whose answers nobody has taken yet may still be running, where
  // runs_ahead() says so. Answers come in the order of the steps.
  void submit(const IntegerBatch& batch);
  IntegerAnswers take_answers();
  bool runs_ahead() const { return tape_.answer_backend().runs_ahead(); }

  // Of the steps to come, in the place of the options'; it needs no other memory of weights.
  void set_update(const UpdateRule& rule) { options_.update = rule; }

  IntegerTape& tape() { return tape_; }
  const IntegerTape& tape() const { return tape_; }
  PointState loss_state() const;
  void set_loss_state(const PointState& state);
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  const Network& network_;
  IntegerOptions options_;
  Communicator* cluster_;
  IntegerTape tape_;
  ShiftPoint loss_point_;
  CrossEntropyRule cross_entropy_;
  std::int64_t steps_ = 0;
  struct Untaken {
    std::unique_ptr<StoredLater> answers;
    std::int64_t images;
  };
  std::deque<Untaken> untaken_;
};

}  // namespace nibble::inline integer_step
