// SPDX-License-Identifier: Apache-2.0
// What a step costs on this machine: every unit on every device, and copies both ways.
#pragma once

#include <cstdint>

#include "placement/step_trial.h"

namespace nibble::inline placement {

// Medians of some steps with everything on the one and on the other, in turns, in proportion to
// whole steps; copies in proportion to steps of mixtures. Both the same: one device, whose costs
// stand twice.
MeasuredStep measure_step(const Network& network, const IntegerOptions& options,
                          std::int64_t images, const Backends& backends);

// From copies of few and of many bytes.
LinkCost measure_link(IntegerBackend& from, IntegerBackend& to);

}  // namespace nibble::inline placement
