// SPDX-License-Identifier: Apache-2.0
// What a step of float training costs, from traces of steps.
#pragma once

#include "float_training/session.h"
#include "placement/planned_work.h"

namespace nibble::inline placement {

// Medians of traced steps: all on the CPU; all products on the device; there the input errors
// alone, and the gradients alone, so that the other ones of the host are seen by themselves. Then
// fitted to steps that nobody looked at, some of placements by chance among them. The recipe has
// its whole policy; an empty device is none. Where the device has no room for all kinds of steps at
// once, or may hold no more than `most_memory` bytes (0: any), they are made one after the other,
// of parts that fit.
MeasuredStep measure_float_step(const Recipe& recipe, std::int64_t images,
                                const std::string& device, std::int64_t most_memory = 0);

}  // namespace nibble::inline placement
