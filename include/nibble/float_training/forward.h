// SPDX-License-Identifier: Apache-2.0
// What a float network answers, and every value on the way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "nibble/graph/network.h"

namespace nibble::inline float_training {

// Called with the value of each node, (batch, …) of f32, in the order of execution; the view lives
// for the call alone.
using ValueWatcher = std::function<void(std::size_t node, ConstTensorView value)>;

// A model made ready once, for many batches. The formats that the network names are applied as
// `evaluate` applies them. Not for several threads at once: it uses all of them itself.
class FloatForward {
 public:
  explicit FloatForward(const Model& model);  // copies what it needs
  ~FloatForward();
  FloatForward(FloatForward&&) noexcept;
  FloatForward& operator=(FloatForward&&) noexcept;

  // The answers (batch, …) of f32 to a batch of f32, whose examples have the shape of the input.
  Tensor answers(ConstTensorView batch, const ValueWatcher& watcher = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// For a single batch.
Tensor answers_of(const Model& model, ConstTensorView batch, const ValueWatcher& watcher = {});

}  // namespace nibble::inline float_training
