// SPDX-License-Identifier: Apache-2.0
// Packs values into one piece of memory.
#include "graph/arena.h"

#include <algorithm>
#include <numeric>

namespace nibble {

std::size_t plan_arena(std::vector<ArenaItem>& items, std::size_t alignment) {
  const auto aligned = [&](std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return items[i].bytes; });
  std::size_t size = 0;
  std::vector<const ArenaItem*> placed;  // by offset
  for (const std::size_t i : order) {
    ArenaItem& item = items[i];
    std::size_t offset = 0;
    for (const ArenaItem* other : placed) {
      const bool lives_beside = other->first <= item.last && item.first <= other->last;
      if (!lives_beside) continue;
      if (other->offset >= offset + item.bytes) break;
      offset = std::max(offset, aligned(other->offset + other->bytes));
    }
    item.offset = offset;
    size = std::max(size, aligned(offset + item.bytes));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &ArenaItem::offset), &item);
  }
  return size;
}

}  // namespace nibble
