// SPDX-License-Identifier: Apache-2.0
// The pictures of a plan, as SVG in the colours of the page.
#pragma once

#include <string>

#include "placement/plan.h"

namespace nibble::inline tasks {

// A row a node, a column a pass; what crosses goes from box to box with its bytes.
std::string network_picture(const Network& network, const StepPlan& plan);

// One step as the plan sees it: a row a device, one for copies.
std::string time_picture(const StepPlan& plan);

// "812 B", "13.4 kB", "2.1 MB"
std::string short_bytes(std::int64_t bytes);
// "0.8 us", "12.4 us", "3.21 ms"
std::string short_time(Nanoseconds time);

}  // namespace nibble::inline tasks
