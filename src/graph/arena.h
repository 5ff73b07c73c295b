// SPDX-License-Identifier: Apache-2.0
// Packs values that live at different times into one piece of memory.
#pragma once

#include <cstddef>
#include <vector>

namespace nibble::inline graph {

struct ArenaItem {
  std::size_t bytes = 0;
  std::size_t first = 0;  // the steps between which it lives, both included
  std::size_t last = 0;
  std::size_t offset = 0;  // the answer
};

// Sets offsets, multiples of `alignment`, so that no two that live at the same time overlap;
// returns the size of the arena. Largest first, each at the lowest place that is free.
std::size_t plan_arena(std::vector<ArenaItem>& items, std::size_t alignment);

}  // namespace nibble::inline graph
