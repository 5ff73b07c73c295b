// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as the network wants them: floats, normalized, with their targets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "float_training/losses.h"
#include "nibble/data/augment.h"
#include "nibble/data/dataset.h"
#include "nibble/graph/op.h"

namespace nibble::inline float_training {

class Batcher {
 public:
  // Both must outlive the batcher.
  Batcher(const Dataset& data, const Input& input);

  // Makes the batch of these images. The targets point into the batcher until the next call.
  void load(std::span<const std::int32_t> indices, const AugmentOptions& augment,
            const AugmentKey& key);

  ConstTensorView images() const { return {images_.data(), DType::f32, shape_}; }
  Targets targets() const { return {labels_, values_}; }

 private:
  const Dataset& data_;
  const Input& input_;
  Tensor bytes_;   // u8, where the data is
  Tensor images_;  // f32
  Shape shape_;
  std::vector<std::int32_t> labels_;
  std::vector<float> values_;
};

}  // namespace nibble::inline float_training
