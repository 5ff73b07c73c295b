// SPDX-License-Identifier: Apache-2.0
// A step in parts, for a device that may not hold all of it at once.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/costs.h"

namespace nibble::inline placement {

bool fits_within(const StepGraph& graph, const Sides& sides, std::int64_t most_memory);  // 0: any

// Placements that fit on the second device, a few layers each: together all units that it has room
// for. Without a limit it is one, of all.
std::vector<Sides> parts_within(const StepGraph& graph, std::int64_t most_memory);

// The one of them that has the unit on the second device; -1: none.
std::ptrdiff_t part_with(const std::vector<Sides>& parts, std::size_t unit);

// Sides by chance; where these do not fit, only what is in one of the parts, too. All on the first
// device where even that does not fit.
Sides sides_by_chance_within(const StepGraph& graph, std::uint32_t number,
                             const std::vector<Sides>& parts, std::int64_t most_memory);

}  // namespace nibble::inline placement
