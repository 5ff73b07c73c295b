// SPDX-License-Identifier: Apache-2.0
// Stochastic weight averaging: the running mean of masters, and the moments that batch norms have
// with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nibble/core/safetensors.h"
#include "nibble/data/dataset.h"
#include "nibble/float_training/policy.h"
#include "nibble/graph/network.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline float_training {

class Averager {
 public:
  // mean += (masters - mean) / (count + 1), in fp32.
  void add(std::span<const ConstTensorView> masters);

  std::int64_t count() const { return count_; }
  const std::vector<Tensor>& means() const { return means_; }

  std::vector<NamedTensorView> state() const;  // "average.0", …
  void set_state(const Checkpoint& checkpoint, std::int64_t count,
                 std::span<const ConstTensorView> like);

 private:
  std::vector<Tensor> means_;
  std::int64_t count_ = 0;
};

// Measures the running moments anew, for weights that never saw a batch: passes batches of the
// given images through the model in training mode. Does nothing to a network without batch norm.
void measure_moments(Model& model, const PrecisionPolicy& policy, const Dataset& data,
                     std::span<const std::int32_t> indices, std::int64_t batch);

}  // namespace nibble::inline float_training
