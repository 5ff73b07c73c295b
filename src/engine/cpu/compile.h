// SPDX-License-Identifier: Apache-2.0
// From a program to what the CPU runs: steps, places of values, memory.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/place.h"
#include "engine/cpu/step.h"
#include "engine/program.h"
#include "nibble/engine/engine.h"

namespace nibble::inline engine {

// A value of the program where it lies.
struct PlacedValue {
  std::size_t value = 0;
  ValueInfo info;
  Place place;
};

struct CpuPlan {
  std::vector<std::unique_ptr<CpuStep>> steps;
  std::vector<StepInfo> infos;       // of the steps
  std::vector<PlacedValue> results;  // of the steps
  PlacedValue input;                 // as the program has it
  ValueInfo entry;                   // as it enters
  PlacedValue output;
  std::size_t arena_bytes = 0;
  std::size_t scratch_bytes = 0;  // of a worker
  std::size_t weight_bytes = 0;
};

// For at most options.max_batch examples at a time; options.threads are known.
CpuPlan compile_for_cpu(const EngineProgram& program, const EngineOptions& options,
                        const Tuning& tuning);

}  // namespace nibble::inline engine
