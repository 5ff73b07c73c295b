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
