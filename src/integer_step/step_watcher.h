// SPDX-License-Identifier: Apache-2.0
// Who looks on while a step runs: which pass of which node begins and ends on which backend.
#pragma once

#include <cstddef>

#include "backend/backend.h"

namespace nibble::inline integer_step {

// The smallest thing that is placed. Of the network's input the forward pass brings the batch in;
// of its loss it makes the first error, on the backend of the answer.
struct StepUnit {
  std::size_t node = 0;
  TrainPass pass = TrainPass::forward;
  auto operator<=>(const StepUnit&) const = default;
};

class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  virtual void begin(StepUnit unit, IntegerBackend& backend) = 0;
  virtual void end(StepUnit unit, IntegerBackend& backend) = 0;
};

}  // namespace nibble::inline integer_step
