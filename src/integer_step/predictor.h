// SPDX-License-Identifier: Apache-2.0
// Answers of an integer network: with shifts of each batch, or frozen, so that one image's answer
// does not depend on its neighbours. Ranks share the examples of a batch, and all have all answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "integer_step/session.h"

namespace nibble::inline integer_step {

// What examples freeze.
struct Calibration {
  std::vector<int> exponents;              // of all values, by node
  std::vector<NormalizationRecord> norms;  // of batch norms, in the order of nodes
};

// A batch of examples that memory need not hold at once.
struct ExampleParts {
  std::int64_t images = 0;  // of all ranks
  std::int64_t most = 1;    // at a time
  // What it gives lives until the next call.
  std::function<InputBatch(std::int64_t first, std::int64_t count)> load;
};

class IntegerPredictor {
 public:
  // The network must outlive the predictor. With a cluster all ranks make the same calls.
  explicit IntegerPredictor(const Network& network, const std::string& device = "cpu",
                            Communicator* cluster = nullptr);

  // In the order of those that are trained: mantissas, or the numbers of 32 bits of a batch norm.
  void set_weight(std::size_t parameter, const Tensor& tensor, int exponent);

  // Shifts by the largest sums of these examples, statistics of all of them: as one batch has them,
  // also where it runs in parts, which takes several passes (BatchParts).
  Calibration calibrate(const ExampleParts& examples);
  Calibration calibrate(const InputBatch& examples);
  void freeze(const Calibration& calibration);
  void thaw() { tape_.thaw(); }  // batch norms, for shifts and statistics of each batch

  const Picture& input_picture() const { return tape_.input_picture(); }
  const Picture& answer_picture() const { return tape_.answer_picture(); }
  IntegerAnswers answer(const InputBatch& examples, ShiftRule rule);

  // The same in two parts: where runs_ahead() says so, batches may be asked for before the answers
  // of the one before are taken, in the same order.
  void submit(const InputBatch& examples, ShiftRule rule);
  IntegerAnswers take_answers();
  bool runs_ahead() const { return tape_.answer_backend().runs_ahead(); }

 private:
  struct Untaken {
    std::unique_ptr<StoredLater> answers;
    std::int64_t images;      // of this rank
    std::int64_t all_images;  // of all of them
    std::int64_t first;
  };

  void run_parts(const ExampleParts& examples);

  IntegerTape tape_;
  Communicator* cluster_;
  std::deque<Untaken> untaken_;
};

}  // namespace nibble::inline integer_step
