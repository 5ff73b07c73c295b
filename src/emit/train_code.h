// SPDX-License-Identifier: Apache-2.0
// The C of a training step: a description of every layer, and the passes forward and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/train_plan.h"

namespace nibble {

// The texts of src/emit/c that the step calls, by name, in the order of their needs.
std::vector<std::string_view> training_kernels(const Network& network, const TrainPlan& plan);

// train_forward, train_answer_error and train_backward, with the static data that they need. Names
// begin with net_ and NET_, whatever the prefix.
std::string training_passes(const Network& network, const TrainPlan& plan);

}  // namespace nibble
