// SPDX-License-Identifier: Apache-2.0
// Steps of emitted code and where their values lie: in the caller's input and output, or in the one
// arena.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emit/steps.h"
#include "emit/storage.h"
#include "nibble/emit/emit.h"

namespace nibble::inline emit {

inline constexpr std::size_t kArenaAlignment = 4;  // of the largest type that is stored

// A piece of the arena.
struct ArenaPiece {
  std::string name;
  std::size_t bytes = 0;
  std::size_t first = 0;  // the steps between which it is used, both included
  std::size_t last = 0;
  std::size_t offset = 0;
};

struct EmitPlan {
  std::vector<EmitStep> steps;
  std::vector<std::size_t> home;     // by node: the one in whose place its value lies
  std::vector<Storage> storage;      // by node that is a home
  std::vector<std::size_t> piece;    // by node that is a home: of the arena; kNoNode: the input
  std::vector<std::size_t> scratch;  // by step: the piece of its column; kNoNode: none
  std::vector<ArenaPiece> pieces;
  std::size_t arena_bytes = 0;
};

EmitPlan make_plan(const NetworkView& view);

// Whether each output of a conv2d needs one pixel of the input and no border.
bool is_pointwise(const NetworkView& view, const EmitStep& step);

// The step whose pieces need the most memory.
std::size_t largest_step(const EmitPlan& plan);

// Pieces: where they lie, how large they are, who uses them.
std::vector<ArenaValue> arena_values(const NetworkView& view, const EmitPlan& plan);

// The same as a table.
std::string plan_text(std::span<const ArenaValue> values);

}  // namespace nibble::inline emit
