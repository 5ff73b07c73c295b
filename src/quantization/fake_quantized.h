// SPDX-License-Identifier: Apache-2.0
// A float network with fake quantization where its integer form would round.
#pragma once

#include <vector>

#include "nibble/graph/network.h"
#include "nibble/quantization/float_batches.h"
#include "nibble/quantization/settings.h"
#include "quantization/range.h"

namespace nibble::inline quantization {

// By node of a float network, what calibration saw of its value; nodes that are not rounded have
// empty observers.
using Observations = std::vector<ValueObserver>;

// Batches of f32 through the network; throws, naming the layer, where a value is not finite.
Observations observe(const Model& model, const FloatBatches& batches,
                     IntegerForm form = IntegerForm::usual);

// The network without batch norms and dropout, with a fake_quantize NAME.q behind each point
// and weight steps in every product.
Model fake_quantized(const Model& model, const Observations& observations,
                     const QuantizeSettings& settings);

// The fake-quantized network with steps from what calibration sees of its weights as they are now,
// as if they were floats; `folded` is the float network that it was made of.
Model with_new_ranges(const Model& fake, const Model& folded, const FloatBatches& batches,
                      const QuantizeSettings& settings);

}  // namespace nibble::inline quantization
