// SPDX-License-Identifier: Apache-2.0
// Applies a policy to tensors, in place, lets an observer see what that did to them, and knows
// where it cut them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "float_training/step_rounding.h"
#include "nibble/core/tensor.h"
#include "nibble/float_training/policy.h"

namespace nibble::inline float_training {

// Sees tensors before and after rounding, of each layer the first parameter only; the two are the
// same where nothing is rounded.
class RoundingObserver {
 public:
  virtual ~RoundingObserver() = default;
  virtual void observe(Role role, std::string_view layer, ConstTensorView before,
                       ConstTensorView after, const RoundingRule* rule) = 0;
  // Of a layer's weight or value that learned steps round.
  virtual void observe(Role role, const Node& node, ConstTensorView before, ConstTensorView after,
                       const StepGrid& steps) = 0;
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

  // Shows the observer, where there is one, what steps make of a weight, and have made of a value.
  void show_weight(std::size_t node, ConstTensorView weight, std::span<const float> steps) const;
  void show_value(std::size_t node, ConstTensorView before, ConstTensorView after,
                  std::span<const float> step) const;

  void set_observer(RoundingObserver* observer) { observer_ = observer; }
  bool has_observer() const { return observer_ != nullptr; }

 private:
  const Network* network_;
  std::uint64_t seed_;
  RoundingObserver* observer_ = nullptr;
};

// Where rounding cut a value to the finite range of its format, so that no gradient passes
// there: 1. Throws for formats whose range follows the data.
std::vector<std::uint8_t> clamp_mask(ConstTensorView values, const Format& format);

void zero_where(const std::vector<std::uint8_t>& mask, TensorView values);

}  // namespace nibble::inline float_training
