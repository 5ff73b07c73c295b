// SPDX-License-Identifier: Apache-2.0
// Learning rates of the rule "sgd": a schedule, in integers from the settings to the step.
#pragma once

#include "nibble/integer_training/train_integers.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline integer_training {

// A setting, to the nearest mantissa of 30 bits.
ScaledInteger scaled_of(double x);

// Of 30 bits. Epochs of the schedule count in units of 2^-16, shares in units of 2^-30.
ScaledInteger rate_of_step(const Schedule& schedule, double base_rate, const RunPosition& position);

// What a step of so many images is told: with the rates of the schedule, or its μ.
UpdateRule update_of_step(const IntegerRecipe& recipe, const RunPosition& position,
                          std::int64_t epoch, std::int64_t images);

// As tables show it: μ, or the rate of the step.
double told_rate(const IntegerRecipe& recipe, const RunPosition& position, std::int64_t epoch);

// Throws where the rule does not know the schedule, or a number is out of its range.
void check_course(const IntegerRecipe& recipe);

}  // namespace nibble::inline integer_training
