// SPDX-License-Identifier: Apache-2.0
// How integer networks do on data sets, of one network again and again: memory, weights and data
// stay on the device.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "integer_step/predictor.h"
#include "integer_step/session.h"
#include "integer_training/integer_model.h"
#include "nibble/data/dataset.h"
#include "nibble/engine/engine.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {

// Answers of a frozen network with batch norms, which the integer form of the network defines: the
// engine gives them where a device has one, elsewhere the backend by the same law.

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

class IntegerEvaluator {
 public:
  // The network must outlive it; models that it is asked about have its layers.
  IntegerEvaluator(const Network& network, const IntegerEvaluationOptions& options)
      : network_(network), options_(options) {}

  // From now on.
  void use(const std::string& device);

  // What these examples freeze, with these weights. A device that runs ahead takes all at once: its
  // memory is its own.
  Calibration calibrate(std::span<const ModelTensor> trained, ExampleParts examples);

  Evaluation evaluate(const Model& model, const Dataset& data, ShiftRule rule);

 private:
  IntegerPredictor& predictor();
  std::int64_t batch_of(std::int64_t images, ShiftRule rule);

  const Network& network_;
  IntegerEvaluationOptions options_;
  std::optional<IntegerPredictor> predictor_;  // made once somebody needs it
};

}  // namespace nibble::inline integer_training
