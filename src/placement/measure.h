// SPDX-License-Identifier: Apache-2.0
// What a step costs on this machine: every unit on every device, and copies both ways.
#pragma once

#include <cstdint>

#include "placement/step_trial.h"

namespace nibble::inline placement {

// Medians of some steps with everything on the one and on the other, in turns, in proportion to
// whole steps; copies in proportion to steps of mixtures. Both the same: one device, whose costs
// stand twice. Where the second device has no room for two steps at once, or may hold no more than
// `most_memory` bytes (0: any), it is measured in parts that fit, one at a time.
MeasuredStep measure_step(const Network& network, const IntegerOptions& options,
                          std::int64_t images, const Backends& backends,
                          std::int64_t most_memory = 0);

// From one copy of few bytes and one of `most_bytes`.
LinkCost measure_link(IntegerBackend& from, IntegerBackend& to, std::int64_t most_bytes);

}  // namespace nibble::inline placement
