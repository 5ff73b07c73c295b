// SPDX-License-Identifier: Apache-2.0
// Plans of integer training.
#pragma once

#include "placement/plan.h"
#include "placement/step_trial.h"

namespace nibble::inline placement {

// What is measured: the network, the batch, and all settings that change what a step does.
std::string work_name(const Network& network, const IntegerOptions& options, std::int64_t images);

// The network and the options must outlive it.
std::unique_ptr<PlannedWork> integer_work(const Network& network, const IntegerOptions& options,
                                          const PlanRequest& request);

StepPlan plan_step(const Network& network, const IntegerOptions& options,
                   const PlanRequest& request);

}  // namespace nibble::inline placement
