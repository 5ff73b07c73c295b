// SPDX-License-Identifier: Apache-2.0
// Networks that read counters and sensors: whole numbers of 32 bits, each feature with a range of
// its own.
#pragma once

#include <vector>

#include "nibble/graph/network.h"

namespace nibble::inline quantization {

// The same float network with its features brought to ±1 first, by a batch_norm with the middle and
// half the width of each feature's range in the calibration batches; the linear layers that read
// them have both in their weights and biases. In the integer network the batch_norm becomes a bias
// and a rescale from int32 to int8. Throws where the input is a picture, or read by other layers.
Model with_feature_ranges(Model model, const std::vector<Tensor>& batches);

}  // namespace nibble::inline quantization
