// SPDX-License-Identifier: Apache-2.0
// LoadGen believes its settings: what would make it read behind its samples or fill the memory with
// queries is refused before it starts.
#pragma once

#include <test_settings.h>

#include <cstddef>

namespace nibble::inline loadgen {

// Queries a second that LoadGen expects or makes.
double expected_rate(const mlperf::TestSettings& settings);

// `samples` is how many the data has.
void check_settings(const mlperf::TestSettings& settings, std::size_t samples);

}  // namespace nibble::inline loadgen
