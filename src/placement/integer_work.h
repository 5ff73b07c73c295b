// SPDX-License-Identifier: Apache-2.0
// Plans of integer training.
#pragma once

#include "placement/plan.h"
#include "placement/step_trial.h"

namespace nibble::inline placement {

// What is measured: the network, the batch and what its step keeps.
std::string work_name(const Network& network, const IntegerOptions& options, std::int64_t images);

StepPlan plan_step(const Network& network, const IntegerOptions& options,
                   const PlanRequest& request);

}  // namespace nibble::inline placement
