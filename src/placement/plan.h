// SPDX-License-Identifier: Apache-2.0
// The plan of a step on two devices: measured, cut, improved on a time line, and tried. What a step
// is says the kind of training.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "placement/planned_work.h"

namespace nibble::inline placement {

struct PlanRequest {
  std::array<std::string, 2> devices = {"cpu", "cpu"};  // both the same: nothing to choose
  std::int64_t images = 64;
  std::int64_t most_memory = 0;  // bytes that may be on the second device; 0: any
  bool uses_cache = true;
};

struct PlanCandidate {
  std::string name;  // "all on cpu", "cut", "time line"
  Sides sides;
  Nanoseconds predicted = 0;  // by the time line
  Nanoseconds measured = 0;   // the median of real steps; 0: not tried
};

struct StepPlan {
  std::array<std::string, 2> devices;
  std::int64_t images = 0;
  bool is_from_cache = false;  // the costs
  bool has_one_result = true;  // weights do not depend on the choice
  StepGraph graph;
  StepCosts costs;
  std::vector<PlanCandidate> candidates;
  std::size_t chosen = 0;
  std::string rules;  // of --place
  std::string why;    // this one

  const PlanCandidate& best() const { return candidates[chosen]; }
  bool has_choice() const { return devices[0] != devices[1]; }
};

// Never one whose real steps are slower than those with everything on one device.
StepPlan plan_work(const PlannedWork& work, const PlanRequest& request);

// The same of what `make_work` makes for a request, which throws where a device is not there. Where
// steps do not fit on the second device, they are planned within what it has free. Where a device
// is lost, or has no room for any part of a step, it says so in a line: the plan is that of the CPU
// alone, and no costs are kept.
using WorkMaker = std::function<std::unique_ptr<PlannedWork>(const PlanRequest& request)>;
StepPlan plan_steadily(const WorkMaker& make_work, const PlanRequest& request);

// As --place takes it.
std::string rules_of(const Network& network, const StepGraph& graph, const Sides& sides,
                     const std::array<std::string, 2>& devices);

}  // namespace nibble::inline placement
