// SPDX-License-Identifier: Apache-2.0
// A network in training: its tape, its optimizer, and one step of both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/buffer_pool.h"
#include "epoch_loop/learner.h"
#include "float_training/batcher.h"
#include "float_training/float_placement.h"
#include "float_training/optimizer.h"
#include "float_training/rounder.h"
#include "float_training/tape.h"
#include "nibble/float_training/recipe.h"

namespace nibble::inline float_training {

struct LossScaleState {
  double scale = 1;
  std::int64_t good_steps = 0;
};

// With the rules that the network brings, and the loss scale that fp16 needs.
Recipe with_whole_policy(Recipe recipe);

class Session {
 public:
  // The recipe must outlive the session; its network has the input's normalization, its policy is
  // whole.
  explicit Session(const Recipe& recipe);

  // One step on a batch. Throws, with the step and the layer, where the loss is not finite.
  StepResult step(const Batcher& batch, double rate);

  // Throws where the last step left a parameter that is not finite.
  void check_parameters() const;

  // The weights as products use them, with formats and class names in the network.
  Model snapshot() const;

  // Those of a model of the same layers, and nothing else of it.
  void take_steps(const Model& model);

  // For checkpoints: all that the next step depends on. The views live as long as the session is
  // left alone.
  void put_state(Words& words, std::vector<NamedTensorView>& tensors) const;
  void take_state(const Checkpoint& checkpoint);

  // What a step changes before its update, and so does one that fails: running moments.
  std::vector<TensorView> moments();
  bool has_device() const { return placement_.has_device(); }  // beside the CPU

  Rounder& rounder() { return rounder_; }
  void set_trace(StepTrace* trace);  // which is told what runs when; null: no longer
  const Optimizer& optimizer() const { return optimizer_; }
  const LossScaleState& loss_scale() const { return loss_scale_; }
  const WireTraffic& traffic() const { return placement_.traffic(); }
  std::int64_t steps() const { return steps_; }
  std::size_t peak_bytes() const { return pool_.peak_bytes(); }

 private:
  Pass pass_for(std::int64_t images);
  std::string broken_parameter() const;  // empty: all are finite
  [[noreturn]] void explain_loss(const Batcher& batch, double loss);

  const Recipe& recipe_;
  Network network_;  // with the policy's formats
  BufferPool pool_;
  Rounder rounder_;
  FloatPlacement placement_;
  Tape tape_;
  HostTrace host_;
  Optimizer optimizer_;
  LossScaleState loss_scale_;
  std::int64_t steps_ = 0;
  Tensor error_;
};

}  // namespace nibble::inline float_training
