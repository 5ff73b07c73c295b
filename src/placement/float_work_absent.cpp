// SPDX-License-Identifier: Apache-2.0
// A build without oneDNN trains in no floats, so there is nothing to plan.
#include "nibble/core/error.h"
#include "placement/float_work.h"

namespace nibble::inline placement {

std::unique_ptr<PlannedWork> float_work(const Recipe& recipe, const PlanRequest&) {
  throw Error("place", "float training of " + recipe.network.name, "a build without oneDNN",
              "--arith int8, or a build with it");
}

StepPlan plan_step(const Recipe& recipe, const PlanRequest& request) {
  return plan_steadily([&](const PlanRequest& each) { return float_work(recipe, each); }, request);
}

}  // namespace nibble::inline placement
