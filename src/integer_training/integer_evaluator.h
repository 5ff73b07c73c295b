// SPDX-License-Identifier: Apache-2.0
// How integer networks do on data sets, of one network again and again: memory, weights and data
// stay on the device.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "integer_step/predictor.h"
#include "integer_training/integer_model.h"
#include "nibble/data/dataset.h"
#include "nibble/integer_training/train_integers.h"

namespace nibble::inline integer_training {

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
