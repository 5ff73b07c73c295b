// SPDX-License-Identifier: Apache-2.0
// Answers of a frozen network with batch norms, which the integer form of the network defines: the
// engine gives them where a device has one, elsewhere the backend by the same law.
#pragma once

#include <string>
#include <vector>

#include "integer_step/session.h"
#include "nibble/engine/engine.h"

namespace nibble::inline integer_training {

bool has_engine(const std::string& device);

class FrozenAnswers {
 public:
  FrozenAnswers(const Model& model, const std::string& device, std::int64_t batch);

  IntegerAnswers answer(const InputBatch& examples);

 private:
  Engine engine_;
  int exponent_;  // of the answers
  std::vector<std::int8_t> mantissas_;
};

}  // namespace nibble::inline integer_training
