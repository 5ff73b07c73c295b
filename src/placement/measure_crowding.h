// SPDX-License-Identifier: Apache-2.0
// How devices that share caches, memory or cores slow each other down, by the clock.
#pragma once

#include <cstdint>

#include "placement/planned_work.h"

namespace nibble::inline placement {

// What steps of the one take beside steps of the other, in thousandths of what they take alone; at
// least 1000.
std::int64_t measure_crowding(TimedSteps& first, TimedSteps& second);

}  // namespace nibble::inline placement
