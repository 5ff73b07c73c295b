// SPDX-License-Identifier: Apache-2.0
// From a float model to a fake-quantized one, and from that to the integers that it stands for.
#pragma once

#include <cstdint>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"
#include "nibble/quantization/float_batches.h"
#include "nibble/quantization/settings.h"

namespace nibble::inline quantization {

// `samples` images of the data, evenly spread over it, as batches of f32 that the network takes.
// Throws where they are not what it takes.
FloatBatches calibration_batches(const Dataset& data, const Network& network, std::int64_t samples);

// Without batch norms and, as the settings say, equalized: the float network that is quantized.
Model folded_model(const Model& model, const QuantizeSettings& settings);

struct QuantizedModel {
  Model folded;  // float, batch norms in the weights
  Model fake;    // the same with fake quantization
};

// Folds batch norms, equalizes, observes ranges, puts fake quantization in, learns the rounding of
// weights and corrects biases, as the settings say. integer_twins_of(fake) gives what runs.
QuantizedModel quantize_model(const Model& model, const FloatBatches& calibration,
                              const QuantizeSettings& settings);

// The input must be read by a fake_quantize alone, every product must have weight steps and take
// what was rounded. Each fake_quantize becomes a rescale with the name of what it rounds; a relu
// before it goes into its low end. A bias becomes 32-bit integers in the unit of its sums. The
// rescale's format says what its integers stand for. Losses go.
Model integer_network_of(const Model& fake_quantized, IntegerForm form = IntegerForm::usual);

// The fake-quantized network with one more rounding where its integer network has one: operands of
// adds that are brought to the unit of the other's sums.
Model with_rounded_addends(Model fake_quantized, IntegerForm form = IntegerForm::usual);

// The fake-quantized network with the biases that its integer network has: whole numbers of the
// unit of their sums.
Model with_integer_biases(Model fake_quantized);

// Two networks of the same numbers.
struct IntegerTwins {
  Model fake;      // rounds all that the integers round, addends and biases too
  Model integers;  // what runs
};

// The end of quantization, after all that learns from the fake-quantized network.
IntegerTwins integer_twins_of(Model fake_quantized, IntegerForm form = IntegerForm::usual);

}  // namespace nibble::inline quantization
