// SPDX-License-Identifier: Apache-2.0
// A run that begins with the parameters of a model: what every arithmetic asks of it.
#pragma once

#include <string_view>

#include "nibble/epoch_loop/run_settings.h"

namespace nibble::inline epoch_loop {

inline constexpr std::string_view kStart = "model to start from";

// A run without a network takes the model's, with softmax cross-entropy where it has no loss.
void take_network(RunSettings& settings, const Network& start);

// Throws, naming the first parameter that differs in name or shape.
void check_same_parameters(const Network& network, const Network& start);

}  // namespace nibble::inline epoch_loop
