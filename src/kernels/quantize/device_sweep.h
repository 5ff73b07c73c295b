// SPDX-License-Identifier: Apache-2.0
// For device_sweep: all fp32 patterns on the device, and the comparison there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibble/cuda/device.h"

namespace nibble::cuda {

// values[i] = the pattern first + i
void fill_patterns(std::uint32_t* values, std::uint32_t first, std::size_t count,
                   const Place& place);

struct SweepResult {
  unsigned long long different;
  unsigned long long example;  // 1 + the index of a different one
};

// Adds up where bits differ.
void compare_bits(const std::uint32_t* a, const std::uint32_t* b, std::size_t count,
                  SweepResult* result, const Place& place);

}  // namespace nibble::cuda
