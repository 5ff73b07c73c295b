// SPDX-License-Identifier: Apache-2.0
// What training makes small, and its error by the network's answer.
#pragma once

#include <cstdint>
#include <span>

#include "nibble/core/tensor.h"
#include "nibble/graph/op.h"

namespace nibble::inline float_training {

// What the answers should be: labels (n), or numbers (n, k) for squared error.
struct Targets {
  std::span<const std::int32_t> labels;
  std::span<const float> values;
};

// The loss of every image, in double; its mean over the batch is the loss.
void image_losses(const Op& loss, ConstTensorView answers, const Targets& targets,
                  std::span<double> losses);

// error = scale · ∂(mean loss)/∂answer; magnitudes below 2^-100 become 0.
void loss_error(const Op& loss, ConstTensorView answers, const Targets& targets, double scale,
                TensorView error);

}  // namespace nibble::inline float_training
