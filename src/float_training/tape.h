// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation over a network: values forward, errors back, memory freed as soon as
// nobody needs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/host_trace.h"
#include "float_training/float_placement.h"
#include "float_training/layer.h"
#include "float_training/rounder.h"
#include "graph/tape_memory.h"

namespace nibble::inline float_training {

class Tape {
 public:
  // All of them must outlive the tape. Without a placement the CPU computes everything. Steps of
  // fake quantization that are not trained have no gradient.
  Tape(const Network& network, const PrecisionPolicy& policy, Rounder& rounder,
       const FloatPlacement* placement = nullptr, bool trains_steps = true);

  // In the order of parameters_of; values and gradients are made here, values are not set.
  const std::vector<LayerParameter*>& parameters() const { return parameters_; }

  // Takes the values of a model, f32 in that order.
  void set_parameters(std::span<const Tensor> values);

  // Runs the network on a batch (images, …) of f32, which must live until the way back has ended;
  // the answer lives until the next call.
  ConstTensorView forward(const Pass& pass, ConstTensorView batch);

  // Runs back from the error of the answer and leaves all gradients in the parameters.
  void backward(const Pass& pass, ConstTensorView answer_error);

  // Called with each node's value, where set.
  using Watcher = std::function<void(std::size_t node, ConstTensorView value)>;
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }

  // Tells the trace which layer and pass the host is in; null: no longer.
  void set_trace(StepTrace* trace) { host_.set_trace(trace); }

 private:
  Shape batch_shape(std::size_t node) const;
  float* value_at(std::size_t node) const;
  void round_value(const Pass& pass, std::size_t node);
  void make_again(const Pass& pass, std::size_t node);
  void backward_node(const Pass& pass, std::size_t node);
  void enter(std::size_t node, const char* pass) const;

  const Network& network_;
  std::vector<Shape> shapes_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<const RoundingRule*> value_rules_;
  std::vector<const RoundingRule*> error_rules_;
  RoundingPoints points_;
  Rounder& rounder_;
  HostTrace host_;
  std::size_t answer_;
  std::optional<TapeMemory<Buffer>> memory_;        // made once the layers are
  std::vector<std::vector<std::uint8_t>> clamped_;  // by node: where no gradient passes
  std::vector<LayerParameter*> parameters_;
  ConstTensorView batch_;  // of the pass
  std::int64_t images_ = 0;
  Watcher watcher_;
};

}  // namespace nibble::inline float_training
