// SPDX-License-Identifier: Apache-2.0
// Applies a policy to tensors, in place, and lets an observer see what that did to them.
#pragma once

#include <cstdint>
#include <string_view>

#include "nibble/core/tensor.h"
#include "nibble/train/policy.h"

namespace nibble {

// Sees tensors before and after rounding, of each layer the first parameter only; the two are the
// same where nothing is rounded.
class RoundingObserver {
 public:
  virtual ~RoundingObserver() = default;
  virtual void observe(Role role, std::string_view layer, ConstTensorView before,
                       ConstTensorView after, const RoundingRule* rule) = 0;
};

// One tensor of a role: which draws are its own.
struct RoundingPlace {
  Role role;
  std::size_t node;
  std::size_t parameter = 0;  // within the node
};

class Rounder {
 public:
  Rounder(const Network& network, std::uint64_t seed) : network_(&network), seed_(seed) {}

  // Rounds by the rule; null does nothing but show the tensor to the observer.
  void round(const RoundingRule* rule, const RoundingPlace& place, std::uint32_t step,
             TensorView values);

  void set_observer(RoundingObserver* observer) { observer_ = observer; }
  bool has_observer() const { return observer_ != nullptr; }

 private:
  const Network* network_;
  std::uint64_t seed_;
  RoundingObserver* observer_ = nullptr;
};

}  // namespace nibble
