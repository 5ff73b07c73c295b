// SPDX-License-Identifier: Apache-2.0
// The classes that a float network, fake-quantized or not, gives images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// By index the largest answer, of equal ones the first.
std::vector<std::int32_t> answered_classes(const Model& model, const Dataset& data,
                                           std::span<const std::int32_t> indices);

// At most `count` images, spread over the data, of which none is among the `calibrated` that
// calibration_batches takes of it.
std::vector<std::int32_t> held_images(const Dataset& data, std::int64_t calibrated,
                                      std::int64_t count);

// The share of these images whose label is the answer. Throws where the data has no classes.
double top1_of(const Model& model, const Dataset& data, std::span<const std::int32_t> indices);

}  // namespace nibble::inline quantization
