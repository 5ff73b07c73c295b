// SPDX-License-Identifier: Apache-2.0
// What one step of integer training shows: shifts, saturation, weights at the rails, weights moved.
#pragma once

#include <cstdint>

#include "epoch_loop/learner.h"
#include "integer_step/tape.h"

namespace nibble::inline integer_training {

// Fills in how the values and errors of a step, the first images', are spread; for its tape, while
// it runs. `step` counts from 1, as after it.
PointObserver point_observer(std::int64_t epoch, std::int64_t step, Observation& observation);

// After the step.
void observe_integers(const IntegerTape& tape, std::int64_t epoch, std::int64_t step,
                      Observation& observation);

}  // namespace nibble::inline integer_training
