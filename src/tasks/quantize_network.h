// SPDX-License-Identifier: Apache-2.0
// From a float model and data to a model of integers, with what was lost on the way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/float_training/fine_tune.h"
#include "nibble/graph/model_file.h"
#include "quantization/error_table.h"
#include "quantization/sensitivity.h"
#include "tasks/quantize_options.h"

namespace nibble::inline tasks {

struct QuantizeManner {
  bool is_silent = false;  // otherwise what is tried for the bits of layers is printed
  std::function<void(std::string_view stage)> on_stage = {};  // "calibration", "rounding", …
  std::function<void(const FineTunedEpoch&)> after_epoch = {};
  std::function<void(const FineTunedEpoch& so_far)> during_epoch = {};
  std::filesystem::path checkpoint = {};  // of fine-tuning; whoever has the result removes it
};

struct QuantizedNetwork {
  Model fake;      // floats that round as the integers do
  Model integers;  // what runs
  Origin origin = {};
  std::vector<NodeError> errors = {};
  std::vector<LayerSensitivity> scan = {};  // where it was asked for
  std::int64_t calibrated = 0;              // images
  double seconds = 0;
  std::optional<Dataset> test = {};       // where the data has one
  std::string no_directory_because = {};  // of NVIDIA's form: why it cannot be a layer directory
};

// The model is of floats.
QuantizedNetwork quantize_network(const Model& model, const QuantizeChoices& choices,
                                  const QuantizeManner& manner);

}  // namespace nibble::inline tasks
