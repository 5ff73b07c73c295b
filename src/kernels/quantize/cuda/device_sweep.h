// SPDX-License-Identifier: Apache-2.0
// For device_sweep: all fp32 patterns on the device, and the comparison there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibble/core/host_device.h"
#include "nibble/cuda/device.h"

namespace nibble::cuda {

// The patterns in an order in which neighbours are apart by up to a few binades, as in blocks of
// data.
NIBBLE_HOST_DEVICE inline std::uint32_t pattern_at(std::uint32_t index) {
  return index << 21 | index >> 11;
}

// values[i] = pattern_at(first + i)
void fill_patterns(std::uint32_t* values, std::uint32_t first, std::size_t count,
                   const Place& place);

struct SweepResult {
  unsigned long long different;
  unsigned long long example;  // 1 + the index of a different one
};

// Every significand of a divisor with 2^9 numerators each: ExactDivisor's reciprocal and quotients
// against the machine's.
void compare_divisions(SweepResult* result, const Place& place);

// Adds up where bits differ.
void compare_bits(const std::uint32_t* a, const std::uint32_t* b, std::size_t count,
                  SweepResult* result, const Place& place);

}  // namespace nibble::cuda
