// SPDX-License-Identifier: Apache-2.0
// The parts of integer_bench.
#pragma once

#include <cstdint>
#include <string>

#include "nibble/integer_step/settings.h"

namespace nibble {

struct IntegerBenchOptions {
  std::string network;
  std::int64_t batch = 64;
  int steps = 20;
  ShiftRule shifts = ShiftRule::exact;
};

// Each returns whether what it computed was right; they print tables.
bool measure_layers(const IntegerBenchOptions& options);
bool measure_step(const IntegerBenchOptions& options);
bool measure_memory(const IntegerBenchOptions& options);

// The child of measure_memory: prints how many MiB a few steps of "int8" or "fp32" added.
void tell_memory(const std::string& arithmetic, const IntegerBenchOptions& options);

}  // namespace nibble
