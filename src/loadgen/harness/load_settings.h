// SPDX-License-Identifier: Apache-2.0
// LoadGen's settings: what it believes and should not, and what a submission may not have.
#pragma once

#include <test_settings.h>

#include <cstddef>
#include <string>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

// As LoadGen has it.
mlperf::TestScenario official_scenario(Scenario scenario);

// Queries a second that LoadGen expects or makes.
double expected_rate(const mlperf::TestSettings& settings);

// Refuses what would make LoadGen read behind its samples or fill the memory with queries.
// `samples` is how many the data has.
void check_settings(const mlperf::TestSettings& settings, std::size_t samples);

// Where settings allow less than the mlperf.conf that is compiled into LoadGen: "min_duration is
// 20, mlperf.conf has 600000", several with commas; empty where a submission may have them.
std::string broken_rules(const mlperf::TestSettings& settings, const std::string& benchmark,
                         Scenario scenario);

}  // namespace nibble::inline loadgen
