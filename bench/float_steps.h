// SPDX-License-Identifier: Apache-2.0
// Steps of float training, which integer training is held against in memory, where this build has
// float training.
#pragma once

#include <cstdint>
#include <string>

namespace nibble {

bool has_float_training();
void run_float_steps(const std::string& network, std::int64_t batch, int steps);  // in fp32

}  // namespace nibble
