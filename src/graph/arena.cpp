// SPDX-License-Identifier: Apache-2.0
// Packs values into one piece of memory.
#include "graph/arena.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/checked.h"

namespace nibble::inline graph {
namespace {

// Finds the placed items that live at the same time as another, without a look at all the others:
// a tree over steps, each of whose nodes stands for a stretch of them, halved by its children.
class LifeTree {
 public:
  explicit LifeTree(std::size_t steps) : leaves_(std::bit_ceil(steps)), nodes_(2 * leaves_) {}

  void add(const ArenaItem& item) {
    visit(item, 1, 0, leaves_,
          [&](Node& node, bool is_whole) { (is_whole ? node.fill : node.touch).push_back(&item); });
  }

  // Each once, by offset.
  const std::vector<const ArenaItem*>& beside(const ArenaItem& item) {
    found_.clear();
    visit(item, 1, 0, leaves_, [&](const Node& node, bool is_whole) {
      found_.insert(found_.end(), node.fill.begin(), node.fill.end());
      if (is_whole) found_.insert(found_.end(), node.touch.begin(), node.touch.end());
    });
    std::ranges::sort(found_, [](const ArenaItem* a, const ArenaItem* b) {
      return a->offset != b->offset ? a->offset < b->offset : a < b;
    });
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return found_;
  }

 private:
  struct Node {
    std::vector<const ArenaItem*> fill;   // live through the whole stretch, but not its parent's
    std::vector<const ArenaItem*> touch;  // live in a part of it
  };

  // Calls body(node, is_whole) for the nodes on the way to the stretches that make up a life.
  template <class Body>
  void visit(const ArenaItem& item, std::size_t at, std::size_t begin, std::size_t end,
             const Body& body) {
    if (item.last < begin || item.first >= end) return;
    const bool is_whole = item.first <= begin && item.last >= end - 1;
    body(nodes_[at], is_whole);
    if (is_whole) return;
    const std::size_t middle = begin + (end - begin) / 2;
    visit(item, 2 * at, begin, middle, body);
    visit(item, 2 * at + 1, middle, end, body);
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;  // 1 is the root, 2·i and 2·i + 1 are the halves of i
  std::vector<const ArenaItem*> found_;
};

}  // namespace

std::size_t plan_arena(std::vector<ArenaItem>& items, std::size_t alignment) {
  if (items.empty()) return 0;
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return items[i].bytes; });
  const std::size_t last_start = std::ranges::max(items, {}, &ArenaItem::first).first;
  const std::size_t first_end = std::ranges::min(items, {}, &ArenaItem::last).last;
  const bool has_common_step = last_start <= first_end;  // then they follow one another
  LifeTree placed(std::ranges::max(items, {}, &ArenaItem::last).last + 1);
  std::size_t size = 0;
  for (const std::size_t i : order) {
    ArenaItem& item = items[i];
    std::size_t offset = 0;
    if (has_common_step) {
      offset = size;
    } else {
      for (const ArenaItem* other : placed.beside(item)) {
        if (other->offset >= checked_sum(offset, item.bytes)) break;
        offset =
            std::max(offset, checked_round_up(checked_sum(other->offset, other->bytes), alignment));
      }
    }
    item.offset = offset;
    size = std::max(size, checked_round_up(checked_sum(offset, item.bytes), alignment));
    if (!has_common_step) placed.add(item);
  }
  return size;
}

}  // namespace nibble::inline graph
