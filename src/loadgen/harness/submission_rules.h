// SPDX-License-Identifier: Apache-2.0
// What the settings of a submission may not have.
#pragma once

#include <test_settings.h>

#include <string>

#include "loadgen/scenario.h"

namespace nibble::inline loadgen {

// Where settings allow less than the mlperf.conf that is compiled into LoadGen: "min_duration is
// 20, mlperf.conf has 600000", several with commas; empty where a submission may have them.
std::string broken_rules(const mlperf::TestSettings& settings, const std::string& benchmark,
                         Scenario scenario);

}  // namespace nibble::inline loadgen
