// SPDX-License-Identifier: Apache-2.0
// Plans of float and simulated training: which products a device computes beside the CPU.
#pragma once

#include "nibble/float_training/recipe.h"
#include "placement/plan.h"

namespace nibble::inline placement {

// The first device is the CPU, which computes what no device can. Both throw where it is another.
std::unique_ptr<PlannedWork> float_work(const Recipe& recipe, const PlanRequest& request);
StepPlan plan_step(const Recipe& recipe, const PlanRequest& request);

}  // namespace nibble::inline placement
