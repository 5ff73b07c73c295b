// SPDX-License-Identifier: Apache-2.0
// Steps of integer training on made-up numbers, to see how long they take.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "integer_step/session.h"
#include "placement/planned_work.h"

namespace nibble::inline placement {

using Backends = std::array<std::shared_ptr<IntegerBackend>, 2>;

Placement placement_of_sides(const Network& network, const StepGraph& graph, const Sides& sides,
                             const Backends& backends);

class StepTrial final : public TimedSteps {
 public:
  // The network must outlive the trial.
  StepTrial(const Network& network, const IntegerOptions& options, std::int64_t images,
            Placement placement);

  Nanoseconds step() override;

  IntegerTape& tape() { return session_.tape(); }

 private:
  IntegerSession session_;
  std::int64_t images_;
  std::vector<std::int8_t> mantissas_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> targets_;
};

}  // namespace nibble::inline placement
