// SPDX-License-Identifier: Apache-2.0
// What tables say of integer answers: classes and losses, in floats, for people.
#pragma once

#include <cstdint>
#include <vector>

#include "integer_step/session.h"
#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "nibble/run_folder/metrics.h"

namespace nibble::inline integer_training {

// The answers as real numbers.
std::vector<float> values_of(const IntegerAnswers& answers);

// What the answers of a batch are compared with, kept until they come.
class ExpectedAnswers {
 public:
  explicit ExpectedAnswers(const IntegerBatch& batch)
      : labels_(batch.labels.begin(), batch.labels.end()),
        targets_(batch.targets.begin(), batch.targets.end()),
        images_(batch.input.images),
        all_images_(batch.all_images) {}

  // Without what entered.
  IntegerBatch batch() const {
    return {.input = {.images = images_},
            .labels = labels_,
            .targets = targets_,
            .all_images = all_images_};
  }

 private:
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> targets_;
  std::int64_t images_;  // of this rank
  std::int64_t all_images_;
};

class AnswerSums {
 public:
  AnswerSums(const Network& network, const Dataset& data);
  void add(const IntegerAnswers& answers, const IntegerBatch& batch);

  double loss_sum() const { return loss_sum_; }
  std::int64_t correct() const;
  Evaluation evaluation() const;

 private:
  Evaluation evaluation_;
  bool is_squared_;  // the loss of the network
  double loss_sum_ = 0;
};

}  // namespace nibble::inline integer_training
