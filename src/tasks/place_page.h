// SPDX-License-Identifier: Apache-2.0
// A plan as one HTML page: the network coloured by device, the time line of a step, the tables.
#pragma once

#include <string>

#include "placement/plan.h"

namespace nibble::inline tasks {

std::string plan_page(const Network& network, const StepPlan& plan);

}  // namespace nibble::inline tasks
