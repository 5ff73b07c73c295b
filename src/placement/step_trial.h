// SPDX-License-Identifier: Apache-2.0
// Steps of a network on made-up numbers under some placement, to see how long they take.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "integer_step/session.h"
#include "placement/costs.h"

namespace nibble::inline placement {

using Backends = std::array<std::shared_ptr<IntegerBackend>, 2>;

Placement placement_of_sides(const Network& network, const StepGraph& graph, const Sides& sides,
                             const Backends& backends);

class StepTrial {
 public:
  // The network must outlive the trial.
  StepTrial(const Network& network, const IntegerOptions& options, std::int64_t images,
            Placement placement);

  // From its begin until every device is done.
  Nanoseconds step();
  // The median of some steps, more of them where they are short.
  Nanoseconds usual_step();

  IntegerTape& tape() { return session_.tape(); }

 private:
  IntegerSession session_;
  std::int64_t images_;
  std::vector<std::int8_t> mantissas_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> targets_;
};

Nanoseconds now();
Nanoseconds median_of(std::vector<Nanoseconds> times);

}  // namespace nibble::inline placement
