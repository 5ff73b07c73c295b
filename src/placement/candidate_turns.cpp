// SPDX-License-Identifier: Apache-2.0
// Steps come and go as memory allows.
#include "placement/candidate_turns.h"

#include <algorithm>

#include "backend/lost_device.h"
#include "placement/cut.h"

namespace nibble::inline placement {

CandidateTurns::CandidateTurns(const PlannedWork& work, StepPlan& plan, std::int64_t most_memory)
    : work_(work), plan_(plan), most_memory_(most_memory), runners_(plan.candidates.size()) {
  for (std::size_t i = 0; i < runners_.size(); ++i)
    runners_[i].memory = memory_of_second(plan.graph, plan.candidates[i].sides);
}

void CandidateTurns::take(PlanCandidate& candidate) {
  Runner& runner = runner_of(candidate);
  if (runner.has_left) return;
  try {
    runner.times.push_back(steps_of(candidate, runner));
  } catch (const Error& error) {  // the device may have room for one
    if (!is_of_device(error) || !has_room_for_several_) throw;
    has_room_for_several_ = false;
    runner.trial.reset();
    runner.times.push_back(steps_of(candidate, runner));
  }
  candidate.measured = median_of(runner.times);
}

void CandidateTurns::leave(const PlanCandidate& candidate) {
  runner_of(candidate).has_left = true;
  runner_of(candidate).trial.reset();
}

const CandidateTurns::Runner& CandidateTurns::runner_of(const PlanCandidate& candidate) const {
  return runners_[static_cast<std::size_t>(&candidate - plan_.candidates.data())];
}

CandidateTurns::Runner& CandidateTurns::runner_of(const PlanCandidate& candidate) {
  return runners_[static_cast<std::size_t>(&candidate - plan_.candidates.data())];
}

// The quickest counts, for the first one wakes threads that slept.
Nanoseconds CandidateTurns::steps_of(const PlanCandidate& candidate, Runner& runner) {
  constexpr int kWarmSteps = 2;
  constexpr int kStepsInARow = 4;
  if (!runner.trial) {
    make_room(runner.memory);
    runner.trial = work_.trial(plan_.graph, candidate.sides);
    for (int i = 0; i < kWarmSteps; ++i) runner.trial->step();
  }
  Nanoseconds least = runner.trial->step();
  for (int step = 1; step < kStepsInARow; ++step) least = std::min(least, runner.trial->step());
  return least;
}

void CandidateTurns::make_room(std::int64_t memory) {
  for (const Runner& each : runners_) memory += each.trial ? each.memory : 0;
  for (Runner& each : runners_) {
    if (has_room_for_several_ && (most_memory_ == 0 || memory <= most_memory_)) return;
    if (!each.trial || (each.memory == 0 && has_room_for_several_)) continue;
    memory -= each.memory;
    each.trial.reset();
  }
}

}  // namespace nibble::inline placement
