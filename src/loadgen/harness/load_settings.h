// SPDX-License-Identifier: Apache-2.0
// LoadGen's settings: scenario, rate, and what it believes and should not.
#pragma once

#include <test_settings.h>

#include <cstddef>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

// As LoadGen has it.
mlperf::TestScenario official_scenario(Scenario scenario);

// Queries a second that LoadGen expects or makes.
double expected_rate(const mlperf::TestSettings& settings);

// Refuses what would make LoadGen read behind its samples or fill the memory with queries.
// `samples` is how many the data has.
void check_settings(const mlperf::TestSettings& settings, std::size_t samples);

}  // namespace nibble::inline loadgen
