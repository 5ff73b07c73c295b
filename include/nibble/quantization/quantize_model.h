// SPDX-License-Identifier: Apache-2.0
// From a float model to one of integers.
#pragma once

#include <cstdint>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// `samples` images of the data, evenly spread over it, as batches of f32 that the network takes.
// Throws where they are not what it takes.
std::vector<Tensor> calibration_batches(const Dataset& data, const Network& network,
                                        std::int64_t samples);

// Without batch norms and, as the settings say, equalized: the float network that is quantized.
Model folded_model(const Model& model, const QuantizeSettings& settings);

struct QuantizedModel {
  Model folded;  // float, batch norms in the weights
  Model fake;    // the same with fake quantization
};

// Folds batch norms, equalizes, observes ranges, puts fake quantization in, learns the rounding of
// weights and corrects biases, as the settings say. integer_twins_of(fake) gives what runs.
QuantizedModel quantize_model(const Model& model, const std::vector<Tensor>& calibration,
                              const QuantizeSettings& settings);

}  // namespace nibble::inline quantization
