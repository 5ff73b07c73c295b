// SPDX-License-Identifier: Apache-2.0
// What is rare by its definition, number by number: products, pools and what looks at a whole
// example, for inputs that are no bytes and for sums that 32 bits do not hold; and what is done to
// each pixel by itself, a pixel's channels at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cpu/place.h"
#include "engine/cpu/step.h"
#include "engine/program.h"
#include "nibble/graph/network.h"

namespace nibble::inline engine {

struct PlainSpec {
  Node node;  // its name and operation
  std::vector<Place> inputs = {};
  Place out = {};
  std::vector<std::int64_t> numbers = {};  // weight, bias, multiplier or table
  std::optional<FinishLaw> finish = {};    // of a product or sum pool; it has no addend
  std::vector<SumTerm> terms = {};         // of a rescale that takes a sum: one an input
};

// Throws where the operation is none of these: conv2d, linear, max_pool, sum_pool, flatten,
// softmax_table, arg_max.
std::unique_ptr<CpuStep> make_plain_step(PlainSpec spec);

// Whether the operation is one of these: bias, relu, rescale, table, add, concat, slice, pad.
bool runs_by_rows(const Op& op);

// Of a rescale: is_wide as in RescaleTile. Throws where the operation does not run by rows.
std::unique_ptr<CpuStep> make_row_step(PlainSpec spec, bool is_wide);

}  // namespace nibble::inline engine
