// SPDX-License-Identifier: Apache-2.0
// Largest values and rescaled sums of windows.
#pragma once

#include <memory>
#include <string>

#include "engine/place.h"
#include "engine/step.h"
#include "nibble/graph/op.h"

namespace nibble {

// Both places have the same storage, u8 or u4, and the same zero.
std::unique_ptr<EngineStep> make_max_pool_step(std::string name, const MaxPool& pool,
                                               const Place& in, const Place& out);

// clamp(R(Σ x·multiplier, shift), low, high); the input is u8 and sums fit 32 bits.
struct MeanSpec {
  std::string name;
  SumPool pool;
  Place in;
  Place out;
  std::int32_t multiplier = 1;
  int shift = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
};
std::unique_ptr<EngineStep> make_mean_step(const MeanSpec& spec);

}  // namespace nibble
