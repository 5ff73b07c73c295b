// SPDX-License-Identifier: Apache-2.0
// The running mean of masters: stochastic weight averaging.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nibble/core/safetensors.h"
#include "nibble/run/checkpoint.h"

namespace nibble {

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

}  // namespace nibble
