// SPDX-License-Identifier: Apache-2.0
// From an integer network to what the engine runs: steps, places of values, memory.
#pragma once

#include <memory>
#include <vector>

#include "engine/place.h"
#include "engine/step.h"
#include "nibble/engine/engine.h"

namespace nibble {

struct EnginePlan {
  std::vector<std::unique_ptr<EngineStep>> steps;
  std::vector<Place> places;      // by node; not stored: fused away
  std::vector<ValueInfo> values;  // by node
  ValueInfo entry;                // the input as it enters
  std::size_t input = 0;          // nodes
  std::size_t output = 0;
  std::size_t arena_bytes = 0;
  std::size_t scratch_bytes = 0;  // of a worker
  std::size_t weight_bytes = 0;
};

// The model must be in integer_form; its weights are taken out of it.
EnginePlan plan_engine(Model& model, const EngineOptions& options);

}  // namespace nibble
