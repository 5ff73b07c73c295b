// SPDX-License-Identifier: Apache-2.0
// Sums of two bytes, each rescaled by itself, as one step with the rescale that follows: what
// residual additions of quantized networks are.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "engine/program.h"

namespace nibble::inline engine {

// clamp(R(x·multiplier, shift), low, high) of a value x.
struct SumTerm {
  Rescale op;
  std::int64_t multiplier = 1;

  std::int32_t of(std::int64_t x) const;
  bool is_narrow(std::int64_t x) const;  // 32 bits hold it before it is clamped
};

struct JoinedProgram {
  EngineProgram steps;  // of the whole, but for its model
  // By the value of a rescale that takes the sum of its inputs, each in its term.
  std::map<std::size_t, std::vector<SumTerm>> sums = {};
};

// `keeps_all`: nothing is joined, since every value has to be stored.
JoinedProgram with_joined_sums(const EngineProgram& program, bool keeps_all);

}  // namespace nibble::inline engine
