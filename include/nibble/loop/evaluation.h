// SPDX-License-Identifier: Apache-2.0
// How a model did on a data set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nibble/run/metrics.h"

namespace nibble {

struct Evaluation {
  std::int64_t images = 0;
  double loss = 0;                        // mean over the images
  std::optional<Classification> classes;  // empty for a regression
};

struct NamedEvaluation {
  std::string name;
  Evaluation evaluation;
};

}  // namespace nibble
