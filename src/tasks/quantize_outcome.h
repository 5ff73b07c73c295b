// SPDX-License-Identifier: Apache-2.0
// What became of a network: accuracy, size and speed, in floats and in integers.
#pragma once

#include <optional>
#include <string>

#include "nibble/data/dataset.h"
#include "nibble/graph/network.h"

namespace nibble::inline tasks {

struct Outcome {
  std::size_t bytes = 0;  // of all parameters
  double loss = 0;        // where there is data
  std::optional<double> top1;
  double images_per_second = 0;  // of whole evaluations, all threads
};

// Without data the bytes alone.
Outcome outcome_of_floats(const Model& model, const Dataset* test);
// By an engine on that device.
Outcome outcome_of_integers(const Model& model, const Dataset* test, const std::string& device);

std::string score_text(const Outcome& outcome);  // top-1, the loss of a regression, or -
std::string rate_text(const Outcome& outcome);

// Two lines under a heading.
std::string outcome_table(const Outcome& floats, const Outcome& integers);

}  // namespace nibble::inline tasks
