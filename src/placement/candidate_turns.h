// SPDX-License-Identifier: Apache-2.0
// Real steps of a plan's candidates, turn by turn, with no more of them at once on a device than it
// has room for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "placement/plan.h"

namespace nibble::inline placement {

class CandidateTurns {
 public:
  // All candidates of the plan, which must stay where they are.
  CandidateTurns(const PlannedWork& work, StepPlan& plan, std::int64_t most_memory);

  // Some steps in a row; the candidate is told the median of its turns. Nothing once it has left.
  void take(PlanCandidate& candidate);
  void leave(const PlanCandidate& candidate);
  bool has_left(const PlanCandidate& candidate) const { return runner_of(candidate).has_left; }

 private:
  struct Runner {
    std::int64_t memory = 0;  // on the second device
    bool has_left = false;
    std::unique_ptr<TimedSteps> trial = {};  // empty: to be made when it has its turn
    std::vector<Nanoseconds> times = {};
  };

  const Runner& runner_of(const PlanCandidate& candidate) const;
  Runner& runner_of(const PlanCandidate& candidate);
  Nanoseconds steps_of(const PlanCandidate& candidate, Runner& runner);
  void make_room(std::int64_t memory);

  const PlannedWork& work_;
  const StepPlan& plan_;
  std::int64_t most_memory_;
  bool has_room_for_several_ = true;
  std::vector<Runner> runners_;  // as the candidates
};

}  // namespace nibble::inline placement
