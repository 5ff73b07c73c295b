// SPDX-License-Identifier: Apache-2.0
// What rounding does to every layer and role, seen in one batch an epoch.
#pragma once

#include <cstdint>
#include <string>

#include "epoch_loop/learner.h"
#include "float_training/rounder.h"
#include "nibble/kernels/quantize.h"

namespace nibble::inline float_training {

class Probe final : public RoundingObserver {
 public:
  // The observation must outlive the probe, which fills it.
  Probe(std::int64_t epoch, std::int64_t step, Observation& observation)
      : epoch_(epoch), step_(step), observation_(observation) {}

  void observe(Role role, std::string_view layer, ConstTensorView before, ConstTensorView after,
               const RoundingRule* rule) override;
  void observe(Role role, const Node& node, ConstTensorView before, ConstTensorView after,
               const StepGrid& steps) override;

 private:
  // Errors are null where nothing was rounded.
  void add(Role role, std::string_view layer, std::string format, ConstTensorView before,
           const ErrorStatistics* errors);

  std::int64_t epoch_;
  std::int64_t step_;
  Observation& observation_;
};

}  // namespace nibble::inline float_training
