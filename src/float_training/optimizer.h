// SPDX-License-Identifier: Apache-2.0
// Turns gradients into weights: momentum, update, master, weight, each in its format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "float_training/layer.h"
#include "float_training/rounder.h"
#include "nibble/core/safetensors.h"
#include "nibble/float_training/recipe.h"
#include "run_folder/checkpoint.h"

namespace nibble::inline float_training {

class Optimizer {
 public:
  Optimizer(const OptimizerSettings& settings, const Network& network,
            const PrecisionPolicy& policy, Rounder& rounder,
            std::span<LayerParameter* const> parameters);

  // Takes first values, rounded to the master's format; parameters that are not trained too.
  void set_masters(std::span<const Tensor> values);

  // One update. Gradients are divided by loss_scale first; where one is not finite and
  // `skips_overflow`, nothing is changed and the answer is false.
  bool step(double rate, double loss_scale, bool skips_overflow);

  // The weights that products use, from the masters. Draws are keyed by the number of updates done.
  void refresh_weights();

  // What a rounded weight is multiplied by, 1 but for WAGE's layers.
  float weight_factor(std::size_t parameter) const;

  // For checkpoints: masters, what the optimizer remembers, and parameters that are not trained.
  std::vector<NamedTensorView> state() const;
  void set_state(const Checkpoint& checkpoint, std::int64_t updates);
  std::int64_t updates() const { return updates_; }

  // Masters of trained parameters in the order of parameters_of, values of the others.
  std::vector<ConstTensorView> masters() const;

 private:
  struct Trained {
    LayerParameter* parameter;
    std::string name;
    std::size_t node;
    std::size_t place;  // within the node
    bool is_trained;
    bool is_step;                // stays above 0 and does not decay
    const LayerParameter* step;  // of a weight that is rounded to steps
    Tensor master;               // empty: the parameter's own value serves
    Tensor first;                // momentum, or Adam's mean of gradients
    Tensor second;               // Adam's mean of their squares
    const RoundingRule* weight;
    const RoundingRule* gradient;
    const RoundingRule* momentum;
    const RoundingRule* update;
    const RoundingRule* master_rule;
  };

  TensorView master_of(Trained& each) const;
  void round(const RoundingRule* rule, Role role, const Trained& each, std::uint32_t number,
             TensorView values);
  void update_parameter(Trained& each, double rate, std::uint32_t number);

  // Elements begin to end: what is remembered of gradients, the update made from it, the master.
  void remember(Trained& each, std::size_t begin, std::size_t end) const;
  void make_update(const Trained& each, double rate, std::size_t begin, std::size_t end,
                   float* update) const;
  void apply(Trained& each, double rate, std::size_t begin, std::size_t end,
             const float* update) const;

  OptimizerSettings settings_;
  Rounder& rounder_;
  std::vector<Trained> trained_;
  std::int64_t updates_ = 0;  // done, for Adam's correction of the start
  Tensor scratch_;            // one update
};

}  // namespace nibble::inline float_training
